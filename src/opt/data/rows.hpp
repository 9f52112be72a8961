// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Samples in compressed rows. A value: columns of a row are strictly ascending and count from 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace unisono::opt {

struct Entry {
  std::span<const std::uint32_t> columns;
  std::span<const float> values;
};

struct Rows {
  std::vector<std::uint64_t> begins{0};     // of each row, and the end of the last
  std::vector<std::uint32_t> columns;
  std::vector<float> values;
  std::vector<float> labels;                // as the file has them; -1 and +1 once they are mapped
  std::uint32_t width = 0;                  // columns there are, filled or not

  std::size_t size() const { return labels.size(); }
  std::size_t nonzeros() const { return columns.size(); }
  Entry row(std::size_t i) const {
    const std::size_t at = begins[i], count = begins[i + 1] - at;
    return {std::span(columns).subspan(at, count), std::span(values).subspan(at, count)};
  }
};

// Appends rows; each array grows once.
void append_rows(Rows& to, const Rows& more);
// Every row gets one more entry, of 1, in a new last column: the intercept of a linear model.
void append_constant(Rows& rows);

}  // namespace unisono::opt
