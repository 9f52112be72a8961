// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "observe/event_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/data/text.hpp"
#include "base/log.hpp"
#include "base/os/retry.hpp"
#include "base/os/text_file.hpp"

namespace unisono::observe {
namespace {

constexpr std::string_view kEnd = "\n]\n";

// How many bytes the UTF-8 character at the front has; 0 when it is none.
std::size_t character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80                    ? 1
                             : first >= 0xc2 && first < 0xe0 ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Longer than need be, a surrogate, or beyond the last character.
  if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f) ||
      (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f)) {
    return 0;
  }
  return length;
}

// Whether JSON takes it as it is.
bool is_plain(char c) {
  return static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x80 &&
         c != '"' && c != '\\';
}

}  // namespace

Result<EventFile> EventFile::open(const std::string& path, std::string_view what, Rank rank) {
  Fd file(retried([&] {
    return ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  }));
  if (!file.valid()) {
    return Status(Code::invalid_argument,
                  cat("rank ", rank, " cannot write the ", what, " ", path, ": ",
                      std::strerror(errno),
                      "; name a file in a folder that exists and may be written"));
  }
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return Status(Code::unavailable,
                  cat("the ", what, " ", path, " is being written by another engine"));
  }
  static_cast<void>(::ftruncate(file.get(), 0) == 0);   // what is no plain file has no length
  return EventFile(std::move(file), path);
}

void EventFile::flush() {
  if (broken_ || news_.empty()) return;
  const std::size_t events = news_.size();
  news_ += kEnd;
  std::string_view left = news_;
  std::int64_t at = end_;
  while (!left.empty()) {
    const ssize_t n = retried([&] { return ::pwrite(file_.get(), left.data(), left.size(), at); });
    if (n <= 0) {
      broken_ = true;
      error_ = n < 0 ? errno : ENOSPC;
      // The array ends after what was written before.
      static_cast<void>(::ftruncate(file_.get(), end_) == 0 &&
                        ::pwrite(file_.get(), kEnd.data(), kEnd.size(), end_) > 0);
      log_line(LogLevel::warn, cat("nothing more is written to ", path_, ": ",
                                   std::strerror(error_)));
      return;
    }
    left.remove_prefix(static_cast<std::size_t>(n));
    at += n;
  }
  end_ += static_cast<std::int64_t>(events);
  news_.clear();
}

Status EventFile::close() {
  flush();
  // Processes that were forked meanwhile hold the file open, and would hold the lock.
  ::flock(file_.get(), LOCK_UN);
  if (!broken_) return {};
  return Status(Code::unavailable, cat("cannot write ", path_, ": ", std::strerror(error_)));
}

void append_text(std::string& out, JsonText json) {
  std::string_view text = json.text;
  out += '"';
  while (!text.empty()) {
    // Nearly all names have nothing but plain characters, which are taken together.
    const auto special = std::find_if_not(text.begin(), text.end(), is_plain);
    out.append(text.begin(), special);
    text.remove_prefix(static_cast<std::size_t>(special - text.begin()));
    if (text.empty()) break;
    const std::size_t length = character(text);
    const char c = text.front();
    if (length == 0) {
      out += "\\ufffd";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::array<char, 8> code{};
      std::snprintf(code.data(), code.size(), "\\u%04x", static_cast<unsigned>(c));
      out += code.data();
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  out += '"';
}

std::string json_text(std::string_view text) {
  return cat(JsonText{text});
}

void append_text(std::string& out, Microseconds time) {
  // Whole numbers only: the program's locale may write fractions with a comma.
  const std::int64_t ns = std::abs(time.length.count());
  if (time.length.count() < 0) out += '-';
  append_text(out, ns / 1000);
  const auto digit = [](std::int64_t value) { return static_cast<char>('0' + value % 10); };
  const char fraction[] = {'.', digit(ns / 100), digit(ns / 10), digit(ns)};
  out.append(fraction, sizeof fraction);
}

std::string microseconds(Nanos d) {
  return cat(Microseconds{d});
}

std::string naming_event(std::string_view what, Rank rank, int row, std::string_view name) {
  return cat("{\"name\":\"", what, "\",\"ph\":\"M\",\"pid\":", rank, ",\"tid\":", row,
             ",\"args\":{\"name\":", json_text(name), "}}");
}

std::string clock_event(Rank rank) {
  // Processes have the same monotonic clock when they run on the same kernel since the same boot
  // and in the same time namespace.
  const std::string boot = word_in_file("/proc/sys/kernel/random/boot_id");
  std::array<char, 64> space{};
  if (::readlink("/proc/self/ns/time", space.data(), space.size() - 1) < 0) space[0] = '\0';
  std::string clock = cat(boot, " ", space.data());
  std::erase_if(clock, [](char c) { return c == '[' || c == ']'; });
  const Time steady = SteadyClock().now();
  const Nanos wall = std::chrono::system_clock::now().time_since_epoch();
  return cat("{\"name\":\"clock\",\"ph\":\"M\",\"pid\":", rank, ",\"tid\":0,\"args\":{\"clock\":",
             json_text(clock),
             ",\"steady_us\":", microseconds(steady - Time{}), ",\"wall_us\":", microseconds(wall),
             "}}");
}

}  // namespace unisono::observe
