// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How tensors are divided by their first dimension.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/request.hpp"
#include "move/collective.hpp"

namespace unisono::run {

inline std::size_t row_bytes(const Request& request) {
  std::size_t bytes = size_of(request.dtype);
  for (std::size_t i = 1; i < request.shape.size(); ++i) {
    bytes *= static_cast<std::size_t>(request.shape[i]);
  }
  return bytes;
}

inline Shape with_rows(Shape shape, std::int64_t rows) {
  shape[0] = rows;
  return shape;
}

// Earlier members get the rows that do not divide evenly.
inline std::vector<std::int64_t> divide_rows(std::int64_t rows, int members) {
  std::vector<std::int64_t> parts(static_cast<std::size_t>(members), rows / members);
  for (std::int64_t i = 0; i < rows % members; ++i) ++parts[static_cast<std::size_t>(i)];
  return parts;
}

inline move::Extents to_bytes(std::span<const std::int64_t> rows, std::size_t bytes_each) {
  move::Extents bytes;
  for (const std::int64_t n : rows) bytes.push_back(static_cast<std::size_t>(n) * bytes_each);
  return bytes;
}

}  // namespace unisono::run
