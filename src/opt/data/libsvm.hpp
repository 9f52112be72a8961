// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The text format of LIBSVM: a label, then index:value pairs whose indices count from 1 and ascend;
// # begins a comment; lines without a label are skipped. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "opt/data/rows.hpp"

namespace unisono::opt {

// What is wrong with a line, and where: offset of its first byte in the text, column from 1.
struct BadLine {
  std::uint64_t offset = 0;
  std::uint64_t column = 0;
  std::string reason;
};

// The first labels that differ, and where each came first. Three are enough to refuse a file.
struct LabelsSeen {
  struct One {
    float value = 0;
    std::uint64_t offset = 0;
  };
  std::array<One, 3> first{};
  int count = 0;

  void see(float value, std::uint64_t offset);
  void see(const LabelsSeen& others);        // the earlier of two places counts
};

// Room for what the beginning of the lines promises, so that arrays seldom grow: copying them, and
// touching fresh memory for it, would take as long as parsing.
void reserve_for(std::string_view lines, Rows& rows);

// Reads whole lines (the last may lack its end) that begin `offset` bytes into the text of a file,
// and appends to rows and labels.
std::optional<BadLine> parse_lines(std::string_view lines, std::uint64_t offset, Rows& rows,
                                   LabelsSeen& labels);

// The lines that begin in [begin, end): every line of a text belongs to one of adjacent ranges.
std::string_view cut_lines(std::string_view text, std::uint64_t begin, std::uint64_t end);

}  // namespace unisono::opt
