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
#include "base/os/fd.hpp"
#include "unisono/status.hpp"
#include "unisono/types.hpp"

namespace unisono::observe {

class EventFile {
 public:
  // Replaces the file; unavailable while another EventFile writes it. `what` is what errors call
  // it.
  static Result<EventFile> open(const std::string& path, std::string_view what, Rank rank);

  // Takes one event, without a line end.
  void add(std::string_view json);
  // Writes what was added since the last time. A disk that is full is told once, and then nothing
  // more is written.
  void flush();
  // The same; nothing more is added. Says whether all of it is in the file.
  Status close();

 private:
  EventFile(Fd file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  Fd file_;
  std::string path_;
  std::string news_;
  std::int64_t end_ = 0;                    // where the next event goes
  bool any_ = false, broken_ = false;
  int error_ = 0;                           // what broke it
};

// Quotes and escapes; what is not UTF-8 is replaced.
std::string json_text(std::string_view text);
// With three decimals: "12.345".
std::string microseconds(Nanos d);
// An event that tells viewers what a process or a row is called.
std::string naming_event(std::string_view what, Rank rank, int row, std::string_view name);
// Tells mergers which clock the times are of, and how it stood against the wall clock.
std::string clock_event(Rank rank);

}  // namespace unisono::observe
