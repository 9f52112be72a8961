// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Samples by column, for coordinate descent. A rank changes the weights of its own columns (those
// whose number leaves its rank when divided by the ranks), and needs for that the margins of all
// rows of the job in which one of them occurs. It keeps those rows, with all their columns, since
// the others' changes move their margins. A value once made.
#pragma once

#include <cstdint>
#include <vector>

#include "opt/data/rows.hpp"
#include "unisono/unisono.hpp"

namespace unisono::opt {

struct ColumnEntry {
  std::span<const std::uint32_t> rows;      // ascending
  std::span<const float> values;
};

struct Columns {
  std::vector<std::uint64_t> begins;        // of each column, and the end of the last
  std::vector<std::uint32_t> rows;
  std::vector<float> values;
  std::vector<float> labels;                // of the rows kept
  std::uint32_t row_max = 0;                // entries of the longest row

  ColumnEntry column(std::uint32_t j) const {
    const std::size_t at = begins[j], count = begins[j + 1] - at;
    return {std::span(rows).subspan(at, count), std::span(values).subspan(at, count)};
  }
};

// The rows kept by this rank, by column.
Columns columns_of(const Rows& all, int rank, int ranks);
// Rows of all ranks, in the order of the ranks. Collective.
Result<Rows> gather_rows(Engine& engine, const Rows& mine);

}  // namespace unisono::opt
