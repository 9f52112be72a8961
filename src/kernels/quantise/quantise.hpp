// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Quantisation of float32 to 2, 4 or 8 bits with a scale for every bucket of 1024 elements (QSGD),
// and to 8-bit floats with such a scale. Vectorised with run-time dispatch; quantise_reference.hpp
// is the scalar oracle. Any alignment, any count including 0. Thread: any; no state.
//
// The same bits on every machine, whatever the vectors, the threads and the chunks: every operation
// rounds by itself (nothing is fused, nothing flushed to zero), and the random number of an element
// hangs on the key and the element's index alone.
//
//   levels s     1, 7 or 127 for 2, 4 or 8 bits
//   scale        max |v| of the bucket
//   inv          s / scale
//   stochastic   code = floor(clamp(v * inv + u, -s, s))
//   nearest      code = round_to_even(clamp(v * inv, -s, s))
//   decoded      code * (scale / s)
//
// u = (k + 1/2) / 2^16, where k are 16 bits of Philox4x32-10 with the key (seed, tensor) and the
// counter (element / 8 low word, high word, owner, step): element e has the half of word (e mod 8)
// / 2 that is low for even e. So the decoded value is v on average, and zero stays zero.
//
// Codes are two's complement, low bits first within a byte; the last byte is filled with zeros.
// A bucket whose inv is not finite (all zero, or so small that s / scale overflows) has the scale 0
// and codes 0. A bucket that holds NaN or an infinity has a NaN as its scale (0x7FC00000) and
// codes 0: what it decodes to is NaN everywhere, never a number. Callers that would rather refuse
// ask all_finite() first.
#pragma once

#include <cstddef>
#include <cstdint>

#include "unisono/types.hpp"

namespace unisono::kernels {

struct QuantiseKey {
  std::uint32_t seed = 0, tensor = 0, owner = 0, step = 0;
};

inline constexpr std::size_t kQuantiseBucket = 1024;  // elements that share a scale

constexpr int quantise_levels(int bits) {
  return (1 << (bits - 1)) - 1;
}
constexpr std::size_t code_bytes(int bits, std::size_t count) {
  return (count * static_cast<std::size_t>(bits) + 7) / 8;
}
constexpr std::size_t scale_count(std::size_t count) {
  return (count + kQuantiseBucket - 1) / kQuantiseBucket;
}

// bits is 2, 4 or 8. first is the index of values[0] in its tensor, a multiple of kQuantiseBucket.
// Without a key codes are rounded to the nearest, and first does not matter.
void quantise(int bits, const QuantiseKey* key, std::uint64_t first, const float* values,
              std::size_t count, float* scales, std::byte* codes);

// out[i] = code * (scale / s): the quotient and the product each round.
void dequantise(int bits, const float* scales, const std::byte* codes, std::size_t count,
                float* out);
// accumulator[i] = accumulator[i] + code * (scale / s): the product and the sum each round.
void dequantise_add(int bits, const float* scales, const std::byte* codes, std::size_t count,
                    float* accumulator);

// The same with 8-bit floats as codes, a byte each: f8e4m3 (s = 448) or f8e5m2 (s = 57344), the
// largest finite values of the formats. v * inv is clamped to s and rounded to nearest even.
void quantise_fp8(DType format, const float* values, std::size_t count, float* scales,
                  std::byte* codes);
void dequantise_fp8(DType format, const float* scales, const std::byte* codes, std::size_t count,
                    float* out);
void dequantise_add_fp8(DType format, const float* scales, const std::byte* codes,
                        std::size_t count, float* accumulator);

// Whether no element is NaN or infinite.
bool all_finite(const float* values, std::size_t count);

}  // namespace unisono::kernels
