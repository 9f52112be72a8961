// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Blocks are widened once and then used by all pairs while they are in the cache.
#include "kernels/linear.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/kernels.hpp"

namespace unisono::kernels {
namespace {

const std::byte* at(const void* base, DType dtype, std::size_t index) {
  return static_cast<const std::byte*>(base) + index * size_of(dtype);
}

double dot(const double* a, const double* b) {
  constexpr std::size_t kLanes = 8;         // independent sums
  std::array<double, kLanes> sums{};
  for (std::size_t i = 0; i < kGramBlock; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

template <typename Wide>
void combine_in(DType wide, DType dtype, void* out, std::span<const void* const> inputs,
                std::span<const double> factors, std::size_t count) {
  constexpr std::size_t kBlock = 512;
  std::array<Wide, kBlock> sum, one;
  for (std::size_t i = 0; i < count; i += kBlock) {
    const std::size_t some = std::min(kBlock, count - i);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const auto factor = static_cast<Wide>(factors[k]);
      cast(wide, one.data(), dtype, at(inputs[k], dtype, i), some);
      if (k == 0) {
        for (std::size_t j = 0; j < some; ++j) sum[j] = factor * one[j];
      } else {
        for (std::size_t j = 0; j < some; ++j) sum[j] += factor * one[j];
      }
    }
    cast(dtype, static_cast<std::byte*>(out) + i * size_of(dtype), wide, sum.data(), some);
  }
}

}  // namespace

void add_gram(DType dtype, std::span<const void* const> inputs, std::size_t count,
              std::span<double> gram) {
  std::vector<double> wide(inputs.size() * kGramBlock);
  for (std::size_t first = 0; first < count; first += kGramBlock) {
    const std::size_t some = std::min(kGramBlock, count - first);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      double* block = wide.data() + k * kGramBlock;
      cast(DType::f64, block, dtype, at(inputs[k], dtype, first), some);
      std::fill(block + some, block + kGramBlock, 0.0);
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        gram[gram_index(i, j)] += dot(wide.data() + i * kGramBlock, wide.data() + j * kGramBlock);
      }
    }
  }
}

void combine(DType dtype, void* out, std::span<const void* const> inputs,
             std::span<const double> factors, std::size_t count) {
  if (size_of(dtype) <= 2) {
    combine_in<float>(DType::f32, dtype, out, inputs, factors, count);
  } else {
    combine_in<double>(DType::f64, dtype, out, inputs, factors, count);
  }
}

}  // namespace unisono::kernels
