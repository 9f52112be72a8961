// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A matrix as the product of two thin ones (PowerSGD): one step of the power method from the right
// factor of the step before. With m members the factors are summed between the two halves, so that
// all of them project onto the same columns:
//
//   left = M right;  sum;  orthonormalise;  right = M^T left;  sum;  result = left right^T
//
// Matrices are row by row: M rows x columns, left rows x rank, right columns x rank. The same bits
// on every machine: sums are in a fixed order and nothing is fused. Pure; thread: any.
#pragma once

#include <cstddef>
#include <cstdint>

#include "unisono/types.hpp"

namespace unisono::encode {

struct Matrix {
  std::size_t rows = 0, columns = 0;
  std::size_t left(std::size_t rank) const { return rows * rank; }
  std::size_t right(std::size_t rank) const { return columns * rank; }
};
// The first dimension by all others. Vectors have one row.
Matrix matrix_of(const Shape& shape);
// Whether the factors are smaller than the matrix; where they are not it travels as it is.
bool has_low_rank(Matrix matrix, std::size_t rank);

// Where there was no step before; the same for the same seed.
void first_factor(std::uint64_t seed, std::size_t count, float* right);
// A column that is null, after a step whose gradient was null or of a lower rank, would stay so for
// ever: such columns begin anew, the same for the same seed.
void renew_factor(std::uint64_t seed, std::size_t columns, std::size_t rank, float* right);
void left_factor(Matrix matrix, std::size_t rank, const float* m, const float* right, float* left);
// Columns that are null, or depend on those before, become null.
void orthonormalise(std::size_t rows, std::size_t rank, float* left);
void right_factor(Matrix matrix, std::size_t rank, const float* m, const float* left,
                  float* right);
// out += factor * left right^T.
void add_product(Matrix matrix, std::size_t rank, const float* left, const float* right,
                 float factor, float* out);

}  // namespace unisono::encode
