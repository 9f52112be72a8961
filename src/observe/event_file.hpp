// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A file of events for chrome://tracing and Perfetto: one JSON array, an event to a line. It is
// whole after every flush(), also when the process is killed later: what comes next takes the place
// of the bracket at the end, in one write. Thread: one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/data/text.hpp"
#include "base/os/fd.hpp"
#include "unisono/status.hpp"
#include "unisono/types.hpp"

namespace unisono::observe {

using unisono::append_text;  // beside those of this folder

// What cat() makes of the parts, at the end of a text.
template <typename... Parts>
void append(std::string& out, const Parts&... parts) {
  (append_text(out, parts), ...);
}

class EventFile {
 public:
  // Replaces the file; unavailable while another EventFile writes it. `what` is what errors call
  // it.
  static Result<EventFile> open(const std::string& path, std::string_view what, Rank rank);

  // Takes one event, in parts as cat() takes them, without a line end. What the parts are goes
  // straight to what is written next: a job may have hundreds of tensors in a step.
  template <typename... Parts>
  void add(const Parts&... parts) {
    if (broken_) return;
    append(news_, any_ ? ",\n" : "[\n", parts...);
    any_ = true;
    if (news_.size() > kNewsMax) flush();
  }
  // Writes what was added since the last time. A disk that is full is told once, and then nothing
  // more is written.
  void flush();
  // The same; nothing more is added. Says whether all of it is in the file.
  Status close();

 private:
  static constexpr std::size_t kNewsMax = 1 << 20;  // until then events are gathered

  EventFile(Fd file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  Fd file_;
  std::string path_;
  std::string news_;
  std::int64_t end_ = 0;                    // where the next event goes
  bool any_ = false, broken_ = false;
  int error_ = 0;                           // what broke it
};

// Quoted and escaped where it is printed; what is not UTF-8 is replaced.
struct JsonText {
  std::string_view text;
};
void append_text(std::string& out, JsonText json);
std::string json_text(std::string_view text);

// Printed with three decimals: "12.345".
struct Microseconds {
  Nanos length;
};
void append_text(std::string& out, Microseconds time);
std::string microseconds(Nanos d);
// An event that tells viewers what a process or a row is called.
std::string naming_event(std::string_view what, Rank rank, int row, std::string_view name);
// Tells mergers which clock the times are of, and how it stood against the wall clock.
std::string clock_event(Rank rank);

}  // namespace unisono::observe
