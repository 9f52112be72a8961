// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Figures and cells as columns of text. Pure.
#pragma once

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/data/text.hpp"

namespace unisono::tools {

using TextTable = std::vector<std::vector<std::string>>;

inline std::string fixed(double value, int digits) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

// Counts the columns that a terminal shows, not bytes.
inline std::size_t width_of(std::string_view text) {
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins));
}

enum class FirstColumn { figures, text };

// Lines of cells with three spaces between columns. Figures stand flush right, text flush left.
inline std::string aligned(const TextTable& table, FirstColumn first) {
  std::vector<std::size_t> widths;
  for (const auto& line : table) {
    widths.resize(std::max(widths.size(), line.size()));
    for (std::size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(line[i]));
    }
  }
  std::string out;
  for (const auto& line : table) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string space(widths[i] - width_of(line[i]), ' ');
      const bool last = i + 1 == line.size();
      if (i > 0) {
        out += cat("   ", space, line[i]);
      } else if (first == FirstColumn::text) {
        out += cat(line[i], last ? "" : space);
      } else {
        out += cat(space, line[i]);
      }
    }
    out += "\n";
  }
  return out;
}

}  // namespace unisono::tools
