// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Short files, such as those in which the kernel tells about itself, and the words in them.
//
// The library has no streams of the standard library: where one copy of it is inside a program and
// another is loaded by a neighbour, each takes the other's locales for its own, and the first number
// that is read ends the process. Thread: any.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/fd.hpp"
#include "base/os/retry.hpp"

namespace unisono {

// At most so many bytes of the file from its beginning; nullopt, with errno, when it cannot be read.
inline std::optional<std::string> text_of_file(const std::string& path, std::size_t most = 4096) {
  const Fd file(retried([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }));
  if (!file.valid()) return std::nullopt;
  std::string text(most, '\0');
  std::size_t have = 0;
  while (have < most) {
    const auto got =
        retried([&] { return ::read(file.get(), text.data() + have, text.size() - have); });
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  text.resize(have);
  return text;
}

// Those between spaces and ends of lines.
inline std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; (at = text.find_first_not_of(" \t\r\n", at)) != text.npos;) {
    const std::size_t end = std::min(text.find_first_of(" \t\r\n", at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

template <typename Number>
std::optional<Number> number_of(std::string_view word) {
  Number number{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

// The first word of a file; empty when there is none.
inline std::string word_in_file(const std::string& path) {
  const auto text = text_of_file(path);
  const auto words = words_of(text ? *text : std::string_view());
  return words.empty() ? std::string() : std::string(words.front());
}

}  // namespace unisono
