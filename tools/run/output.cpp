// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/data/text.hpp"

namespace unisono::tools {
namespace {
constexpr std::size_t kLastLines = 20;
constexpr std::size_t kLineMax = 64 << 10;  // a longer line is printed in parts
constexpr int kColours[] = {36, 33, 32, 35, 34, 96, 93, 92, 95, 94};
}  // namespace

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      pollfd writable{fd, POLLOUT, 0};
      ::poll(&writable, 1, 1000);
      continue;
    }
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

Output::Output(int ranks, Style style)
    : style_(std::move(style)),
      out_(static_cast<std::size_t>(ranks)),
      err_(static_cast<std::size_t>(ranks)),
      last_(static_cast<std::size_t>(ranks)) {
  const bool plain = ::getenv("NO_COLOR") != nullptr;
  colour_out_ = !plain && ::isatty(style_.out_to_err ? 2 : 1) == 1;
  colour_err_ = !plain && ::isatty(2) == 1;
}

Status Output::open() {
  if (style_.folder.empty()) return {};
  const auto trouble = [](const std::string& path) {
    return Status(Code::unavailable, cat("--output-dir: ", path, ": ", std::strerror(errno)));
  };
  if (::mkdir(style_.folder.c_str(), 0777) != 0 && errno != EEXIST) return trouble(style_.folder);
  for (std::size_t rank = 0; rank < out_.size(); ++rank) {
    for (const bool error : {false, true}) {
      const std::string path = cat(style_.folder, "/rank.", rank, error ? ".err" : ".out");
      Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
      if (!file.valid()) return trouble(path);
      (error ? err_ : out_)[rank].file = std::move(file);
    }
  }
  return {};
}

void Output::print(int rank, bool error, std::string_view line) {
  const bool coloured = error ? colour_err_ : colour_out_;
  std::string text;
  if (style_.prefix) {
    const std::string prefix = cat("[", rank, "] ");
    const int colour = kColours[static_cast<std::size_t>(rank) % std::size(kColours)];
    text = coloured ? cat("\x1b[", colour, "m", prefix, "\x1b[0m") : prefix;
  }
  text.append(line).push_back('\n');
  write_all(error || style_.out_to_err ? 2 : 1, text);
  auto& last = last_[static_cast<std::size_t>(rank)];
  last.emplace_back(line.substr(0, 500));
  if (last.size() > kLastLines) last.pop_front();
}

void Output::add(int rank, bool error, std::string_view bytes) {
  if (rank < 0 || static_cast<std::size_t>(rank) >= out_.size()) return;
  Stream& stream = (error ? err_ : out_)[static_cast<std::size_t>(rank)];
  if (stream.file.valid()) write_all(stream.file.get(), bytes);
  stream.rest.append(bytes);
  std::size_t from = 0;
  for (;;) {
    const std::size_t end = stream.rest.find('\n', from);
    if (end == std::string::npos) break;
    print(rank, error, std::string_view(stream.rest).substr(from, end - from));
    from = end + 1;
  }
  stream.rest.erase(0, from);
  if (stream.rest.size() > kLineMax) {
    print(rank, error, stream.rest);
    stream.rest.clear();
  }
}

void Output::note(const std::string& host, std::string_view bytes) {
  std::string& rest = notes_[host];
  rest += bytes;
  std::size_t from = 0;
  for (std::size_t end; (end = rest.find('\n', from)) != std::string::npos; from = end + 1) {
    print_note(host, std::string_view(rest).substr(from, end - from));
  }
  rest.erase(0, from);
  if (rest.size() > kLineMax) print_note(host, std::exchange(rest, {}));
}

void Output::print_note(const std::string& host, std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (!line.empty()) write_all(2, cat("[", host, "] ", line, "\n"));
}

void Output::finish() {
  for (auto& [host, rest] : notes_) print_note(host, std::exchange(rest, {}));
  for (std::size_t rank = 0; rank < out_.size(); ++rank) {
    for (const bool error : {false, true}) {
      std::string& rest = (error ? err_ : out_)[rank].rest;
      if (!rest.empty()) print(static_cast<int>(rank), error, rest);
      rest.clear();
    }
  }
}

const std::deque<std::string>& Output::last_lines(int rank) const {
  return last_[static_cast<std::size_t>(rank)];
}

}  // namespace unisono::tools
