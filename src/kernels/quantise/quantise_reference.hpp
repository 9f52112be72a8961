// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The scalar oracle of quantise.hpp, and what a CPU without vectors runs; and what both share: the
// arithmetic that a bucket needs once. Compiled without contraction of products and sums.
// Thread: any; no state.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/float_formats.hpp"
#include "kernels/quantise/quantise.hpp"

namespace unisono::kernels {

// What the codes of a bucket are made with; a NaN or zero scale goes with inverse 0 and codes 0.
struct BucketScale {
  float scale = 0, inverse = 0;
};

// largest: the bits of the largest magnitude. They are ordered as magnitudes are, NaN above all.
inline BucketScale bucket_scale(std::uint32_t largest, float levels) {
  if (largest >= kF32Infinity) return {std::bit_cast<float>(kF32Infinity | kF32Quiet), 0.0f};
  const auto scale = std::bit_cast<float>(largest);
  const float inverse = levels / scale;
  if (!(inverse <= std::numeric_limits<float>::max())) return {};
  return {scale, inverse};
}

// The largest finite value of an 8-bit float.
inline float fp8_levels(DType format) {
  return format == DType::f8e4m3 ? 448.0f : 57344.0f;
}

namespace reference {

void quantise(int bits, const QuantiseKey* key, std::uint64_t first, const float* values,
              std::size_t count, float* scales, std::byte* codes);
void dequantise(int bits, const float* scales, const std::byte* codes, std::size_t count,
                float* out);
void dequantise_add(int bits, const float* scales, const std::byte* codes, std::size_t count,
                    float* accumulator);
void quantise_fp8(DType format, const float* values, std::size_t count, float* scales,
                  std::byte* codes);
void dequantise_fp8(DType format, const float* scales, const std::byte* codes, std::size_t count,
                    float* out);
void dequantise_add_fp8(DType format, const float* scales, const std::byte* codes,
                        std::size_t count, float* accumulator);
bool all_finite(const float* values, std::size_t count);

}  // namespace reference
}  // namespace unisono::kernels
