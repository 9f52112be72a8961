// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The lines of an event file: "[", an event with a comma after all but the last, "]".
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "unisono/status.hpp"

namespace unisono::tools {

class EventLines {
 public:
  static constexpr std::size_t kLineMax = 64 << 20;

  static Result<EventLines> open(const std::string& path);
  // Gets the next event without its comma; false at the end, or when the file cannot be read on.
  bool next(std::string_view& event);

  std::uint64_t line() const { return line_; }     // of the last event, from 1
  // After the end: whether the closing bracket came and nothing behind it.
  bool closed() const { return closed_ && !behind_; }
  bool opened() const { return opened_; }
  // Why it ended early: a line too long, a disk that cannot be read; else empty.
  const std::string& trouble() const { return trouble_; }

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  bool read_line();

  std::unique_ptr<std::FILE, Closer> file_;
  std::string text_, trouble_;
  std::uint64_t line_ = 0;
  bool opened_ = false, closed_ = false, behind_ = false;
};

}  // namespace unisono::tools
