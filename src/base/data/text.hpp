// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Builds messages: cat("rank ", 3, " on ", host). Numbers print as people expect.
#pragma once

#include <concepts>
#include <cstdio>
#include <string>
#include <string_view>

namespace unisono {

inline void append_text(std::string& out, std::string_view text) { out.append(text); }
inline void append_text(std::string& out, char c) { out.push_back(c); }
template <std::same_as<bool> T>
void append_text(std::string& out, T b) {
  out.append(b ? "true" : "false");
}
template <std::integral T>
  requires(!std::same_as<T, bool> && !std::same_as<T, char>)
void append_text(std::string& out, T number) {
  out.append(std::to_string(number));
}
template <std::floating_point T>
void append_text(std::string& out, T number) {
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.9g", static_cast<double>(number));
  out.append(buffer);
}

template <typename... Parts>
std::string cat(const Parts&... parts) {
  std::string out;
  (append_text(out, parts), ...);
  return out;
}

// "a, b, c" of anything append_text can print.
template <typename Range>
std::string join_text(const Range& items, std::string_view separator = ", ") {
  std::string out;
  bool first = true;
  for (const auto& item : items) {
    if (!first) out.append(separator);
    first = false;
    append_text(out, item);
  }
  return out;
}

}  // namespace unisono
