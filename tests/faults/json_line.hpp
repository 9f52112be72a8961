// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// One JSON object on one line of standard output, written with a single call so that lines of
// several threads, or of a process that ends at once, never mix or get lost.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>
#include <string_view>

inline std::int64_t monotonic_ns() {
  timespec spec{};
  ::clock_gettime(CLOCK_MONOTONIC, &spec);
  return static_cast<std::int64_t>(spec.tv_sec) * 1'000'000'000 + spec.tv_nsec;
}

class JsonLine {
 public:
  JsonLine(std::string_view event, int rank) {
    text("event", event);
    number("rank", rank);
  }
  JsonLine& text(std::string_view key, std::string_view value) {
    begin(key);
    quote(value);
    return *this;
  }
  JsonLine& number(std::string_view key, std::int64_t value) {
    begin(key);
    line_ += std::to_string(value);
    return *this;
  }
  JsonLine& flag(std::string_view key, bool value) {
    begin(key);
    line_ += value ? "true" : "false";
    return *this;
  }
  void print() const {
    const std::string whole = line_ + "}\n";
    [[maybe_unused]] const auto n = ::write(STDOUT_FILENO, whole.data(), whole.size());
  }

 private:
  void begin(std::string_view key) {
    line_ += line_.empty() ? "{" : ",";
    quote(key);
    line_ += ":";
  }
  void quote(std::string_view value) {
    line_ += '"';
    for (const char c : value) {
      if (c == '"' || c == '\\') {
        line_ += '\\';
        line_ += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        char escaped[8];
        std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
        line_ += escaped;
      } else {
        line_ += c;
      }
    }
    line_ += '"';
  }
  std::string line_;
};
