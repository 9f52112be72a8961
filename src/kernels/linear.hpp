// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Dot products and linear combinations of vectors of float elements. Thread: any; no state.
// Any alignment, any count including 0.
#pragma once

#include <cstddef>
#include <span>

#include "unisono/types.hpp"

namespace unisono::kernels {

// The dot products of every pair of n vectors, as the lower triangle of a matrix, row by row.
inline constexpr std::size_t gram_size(std::size_t n) { return n * (n + 1) / 2; }
inline constexpr std::size_t gram_index(std::size_t i, std::size_t j) {
  return i < j ? gram_index(j, i) : i * (i + 1) / 2 + j;
}

// The number of elements whose products are added up before they are added to a sum. Vectors given
// in pieces that are multiples of it give the same bits as vectors given whole.
inline constexpr std::size_t kGramBlock = 256;

// gram[k] += the dot products of `count` elements, in float64.
void add_gram(DType dtype, std::span<const void* const> inputs, std::size_t count,
              std::span<double> gram);

// out[i] = sum over k of factors[k] * inputs[k][i], in that order: in float32 for floats of 16 bits
// and less, else in float64, rounded once. out may be one of the inputs.
void combine(DType dtype, void* out, std::span<const void* const> inputs,
             std::span<const double> factors, std::size_t count);

}  // namespace unisono::kernels
