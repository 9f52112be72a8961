// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The scalar oracle of pick.hpp, by sorting and by looking at one element after the other; it also
// computes what the vector kernels leave. Thread: any; no state.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/float_formats.hpp"
#include "kernels/pick/pick.hpp"

namespace unisono::kernels {

// Bits that are ordered as magnitudes are.
inline std::uint32_t magnitude_of(float value) {
  return std::bit_cast<std::uint32_t>(value) & ~kF32Sign;
}

namespace reference {

Cut cut_of_largest(const float* values, std::size_t count, std::size_t k);
std::size_t compact(const float* values, std::size_t count, Cut cut, std::uint32_t base,
                    std::uint32_t* indices, float* picked, std::size_t capacity);
std::size_t compact_with_feedback(float* residual, const float* gradient, std::size_t count,
                                  Cut cut, std::uint32_t base, std::uint32_t* indices,
                                  float* picked, std::size_t capacity);
void top_of_buckets(const float* values, std::size_t count, std::size_t bucket, std::size_t k,
                    std::uint32_t base, std::uint32_t* indices, float* picked);
void top_of_buckets_with_feedback(float* residual, const float* gradient, std::size_t count,
                                  std::size_t bucket, std::size_t k, std::uint32_t base,
                                  std::uint32_t* indices, float* picked);

}  // namespace reference
}  // namespace unisono::kernels
