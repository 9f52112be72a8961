// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A process that this command starts, talks with and is sure to end. It leads a process group of
// its own: when the object goes, or the process ends, whatever is left of the group is killed, and
// the kernel kills the process when this one dies. Nothing here waits without a limit.
// Thread: one, the one that made it. SIGPIPE must be ignored.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/os/fd.hpp"
#include "unisono/status.hpp"

namespace unisono::tools {

class Child {
 public:
  // Runs a program, found as the shell would find it. One that cannot be run exits with 126 or 127
  // and says so in err().
  static Result<Child> run(const std::vector<std::string>& command);
  // Runs a function in a copy of this process; what it returns is the output. For calls of
  // libraries that may wait long. No other thread may run.
  static Result<Child> call(const std::function<std::string()>& body);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child() { end(); }

  void send(std::string_view text);
  void close_input() { to_.reset(); }
  // Of an output that is too long, keeps its end rather than its beginning.
  void keep_end() { keeps_end_ = true; }
  // Moves what can be moved and looks whether the process has ended.
  void pump();
  bool ended() const { return pid_ <= 0; }
  int exit_code() const { return exit_code_; }  // -1: not ended, or ended by a signal
  const std::string& out() const { return out_; }
  const std::string& err() const { return err_; }
  // Takes the first whole line from out(), without its end.
  std::optional<std::string> take_line();
  void watch(std::vector<pollfd>& fds) const;
  void end();

 private:
  Child() = default;
  static Result<Child> start(const std::function<int()>& body);
  void look_for_end();

  pid_t pid_ = -1;
  int exit_code_ = -1;
  Fd to_, from_, from_err_;
  std::string unsent_, out_, err_;
  bool keeps_end_ = false;
};

using Tick = std::function<void()>;

// Pumps the children until done() holds, the time is over or Ctrl-C came; returns whether it holds.
// Calls tick, if there is one, several times a second.
bool pump_until(std::span<Child* const> children, Time until, const std::function<bool()>& done,
                const Tick& tick);

}  // namespace unisono::tools
