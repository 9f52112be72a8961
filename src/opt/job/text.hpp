// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Builds messages. This folder is a user of the public interface alone, so it has its own.
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

#include "unisono/status.hpp"

namespace unisono::opt {

inline void append_to(std::string& out, std::string_view text) { out.append(text); }
template <typename T>
  requires std::integral<T> || std::floating_point<T>
void append_to(std::string& out, T number) {
  char buffer[64];
  const auto done = std::to_chars(buffer, buffer + sizeof buffer, number);
  out.append(buffer, done.ptr);
}

template <typename... Parts>
std::string text_of(const Parts&... parts) {
  std::string out;
  (append_to(out, parts), ...);
  return out;
}

template <typename... Parts>
Status wrong(const Parts&... parts) {
  return Status(Code::invalid_argument, text_of(parts...));
}

}  // namespace unisono::opt
