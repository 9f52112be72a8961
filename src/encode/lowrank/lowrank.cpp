// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "encode/lowrank/lowrank.hpp"

#include <algorithm>
#include <cmath>

#include "base/data/rng.hpp"

namespace unisono::encode {
namespace {

double column_dot(std::size_t rows, std::size_t rank, const float* a, std::size_t i,
                  std::size_t j) {
  double sum = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    sum += static_cast<double>(a[r * rank + i]) * static_cast<double>(a[r * rank + j]);
  }
  return sum;
}

}  // namespace

Matrix matrix_of(const Shape& shape) {
  const auto count = static_cast<std::size_t>(element_count(shape).value_or(0));
  if (shape.size() < 2 || count == 0) return {count == 0 ? std::size_t{0} : 1, count};
  const auto rows = static_cast<std::size_t>(shape.front());
  return {rows, count / rows};
}

bool has_low_rank(Matrix matrix, std::size_t rank) {
  return matrix.rows <= UINT32_MAX &&
         (matrix.rows + matrix.columns) * rank < matrix.rows * matrix.columns;
}

void first_factor(std::uint64_t seed, std::size_t count, float* right) {
  Rng rng(seed);
  for (std::size_t i = 0; i < count; ++i) right[i] = static_cast<float>(rng.uniform() * 2 - 1);
}

void renew_factor(std::uint64_t seed, std::size_t columns, std::size_t rank, float* right) {
  for (std::size_t k = 0; k < rank; ++k) {
    bool null = true;
    for (std::size_t c = 0; c < columns && null; ++c) null = right[c * rank + k] == 0.0F;
    if (!null) continue;
    Rng rng(seed + k);
    for (std::size_t c = 0; c < columns; ++c) {
      right[c * rank + k] = static_cast<float>(rng.uniform() * 2 - 1);
    }
  }
}

void left_factor(Matrix matrix, std::size_t rank, const float* m, const float* right,
                 float* left) {
  for (std::size_t r = 0; r < matrix.rows; ++r) {
    float* out = left + r * rank;
    std::fill(out, out + rank, 0.0F);
    const float* row = m + r * matrix.columns;
    for (std::size_t c = 0; c < matrix.columns; ++c) {
      for (std::size_t k = 0; k < rank; ++k) out[k] += row[c] * right[c * rank + k];
    }
  }
}

void orthonormalise(std::size_t rows, std::size_t rank, float* left) {
  for (std::size_t j = 0; j < rank; ++j) {
    const double before = column_dot(rows, rank, left, j, j);
    for (std::size_t i = 0; i < j; ++i) {
      const double dot = column_dot(rows, rank, left, i, j);
      for (std::size_t r = 0; r < rows; ++r) {
        left[r * rank + j] -= static_cast<float>(dot * static_cast<double>(left[r * rank + i]));
      }
    }
    const double after = column_dot(rows, rank, left, j, j);
    // What is left of a column that depends on others is the rounding of float32, twice of which
    // is far below this.
    constexpr double kNothing = 1e-10;
    const bool null = !(after > before * kNothing) || after < 1e-60;
    const double scale = null ? 0.0 : 1.0 / std::sqrt(after);
    for (std::size_t r = 0; r < rows; ++r) {
      float& element = left[r * rank + j];
      element = static_cast<float>(static_cast<double>(element) * scale);
    }
  }
}

void right_factor(Matrix matrix, std::size_t rank, const float* m, const float* left,
                  float* right) {
  std::fill(right, right + matrix.right(rank), 0.0F);
  for (std::size_t r = 0; r < matrix.rows; ++r) {
    const float* row = m + r * matrix.columns;
    for (std::size_t c = 0; c < matrix.columns; ++c) {
      for (std::size_t k = 0; k < rank; ++k) right[c * rank + k] += row[c] * left[r * rank + k];
    }
  }
}

void add_product(Matrix matrix, std::size_t rank, const float* left, const float* right,
                 float factor, float* out) {
  for (std::size_t r = 0; r < matrix.rows; ++r) {
    for (std::size_t c = 0; c < matrix.columns; ++c) {
      float sum = 0;
      for (std::size_t k = 0; k < rank; ++k) sum += left[r * rank + k] * right[c * rank + k];
      out[r * matrix.columns + c] += factor * sum;
    }
  }
}

}  // namespace unisono::encode
