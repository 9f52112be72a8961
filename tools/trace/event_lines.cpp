// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/event_lines.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/data/text.hpp"

namespace unisono::tools {

Result<EventLines> EventLines::open(const std::string& path) {
  EventLines lines;
  struct stat about {};
  // A pipe would be read to its end the first time, and be empty the second.
  const bool there = ::stat(path.c_str(), &about) == 0;
  if (there && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode)) {
    return Status(Code::invalid_argument, cat(path, ": it is no plain file"));
  }
  if (there && S_ISDIR(about.st_mode)) {
    errno = EISDIR;
  } else if (there) {
    lines.file_.reset(std::fopen(path.c_str(), "re"));
  }
  if (lines.file_ == nullptr) {
    return Status(Code::invalid_argument, cat(path, ": ", std::strerror(errno)));
  }
  return lines;
}

bool EventLines::next(std::string_view& event) {
  while (trouble_.empty() && read_line()) {
    event = text_;
    while (!event.empty() && (event.back() == '\r' || event.back() == ' ')) event.remove_suffix(1);
    if (event.empty()) continue;
    behind_ = closed_;
    if (event == "[" && !opened_) {
      opened_ = true;
      continue;
    }
    if (event == "]" && !closed_) {
      closed_ = true;
      continue;
    }
    if (event.back() == ',') event.remove_suffix(1);
    return true;
  }
  return false;
}

// Piece by piece, so that a file without line ends does not fill memory.
bool EventLines::read_line() {
  text_.clear();
  char piece[65536];
  while (std::fgets(piece, sizeof piece, file_.get()) != nullptr) {
    if (text_.empty()) ++line_;
    // A zero byte hides the rest of its piece, and what is left is no JSON.
    text_ += piece;
    if (!text_.empty() && text_.back() == '\n') {
      text_.pop_back();
      return true;
    }
    if (text_.size() > kLineMax) {
      trouble_ = cat("the line is longer than ", kLineMax >> 20, " MiB");
      return false;
    }
  }
  if (std::ferror(file_.get()) != 0) {
    trouble_ = std::strerror(errno);
    return false;
  }
  return !text_.empty();
}

}  // namespace unisono::tools
