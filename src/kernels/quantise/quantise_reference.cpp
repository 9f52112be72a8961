// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/quantise/quantise_reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/quantise/philox.hpp"

namespace unisono::kernels::reference {

namespace {

// Callers' memory may have any alignment.
float value_at(const float* values, std::size_t i) {
  float value;
  std::memcpy(&value, reinterpret_cast<const std::byte*>(values) + i * sizeof value, sizeof value);
  return value;
}

void put_value(float* values, std::size_t i, float value) {
  std::memcpy(reinterpret_cast<std::byte*>(values) + i * sizeof value, &value, sizeof value);
}

std::uint32_t magnitude_bits(float value) {
  return std::bit_cast<std::uint32_t>(value) & ~kF32Sign;
}

std::uint32_t largest_magnitude(const float* values, std::size_t begin, std::size_t end) {
  std::uint32_t largest = 0;
  for (std::size_t i = begin; i < end; ++i) {
    largest = std::max(largest, magnitude_bits(value_at(values, i)));
  }
  return largest;
}

float uniform(const QuantiseKey& key, std::uint64_t element) {
  const std::uint64_t block = element / 8;
  const auto words = philox({static_cast<std::uint32_t>(block),
                             static_cast<std::uint32_t>(block >> 32), key.owner, key.step},
                            {key.seed, key.tensor});
  const std::uint32_t word = words[element % 8 / 2];
  const std::uint32_t bits = element % 2 == 0 ? word & 0xFFFF : word >> 16;
  return (static_cast<float>(bits) + 0.5f) * 0x1.0p-16f;
}

int code_of(float value, float inverse, float levels, const QuantiseKey* key,
            std::uint64_t element) {
  const float scaled = value * inverse;
  if (key == nullptr) {
    return static_cast<int>(std::nearbyint(std::clamp(scaled, -levels, levels)));
  }
  const float moved = scaled + uniform(*key, element);
  return static_cast<int>(std::floor(std::clamp(moved, -levels, levels)));
}

// Two's complement, low bits first.
void put_code(int bits, std::byte* codes, std::size_t i, int code) {
  const std::size_t at = i * static_cast<std::size_t>(bits);
  const unsigned mask = (1u << bits) - 1;
  codes[at / 8] |= static_cast<std::byte>((static_cast<unsigned>(code) & mask) << at % 8);
}

int code_at(int bits, const std::byte* codes, std::size_t i) {
  const std::size_t at = i * static_cast<std::size_t>(bits);
  const unsigned shifted = std::to_integer<unsigned>(codes[at / 8]) >> at % 8;
  const unsigned sign = 1u << (bits - 1);
  return static_cast<int>((shifted & (2 * sign - 1)) ^ sign) - static_cast<int>(sign);
}

std::uint8_t to_fp8(DType format, float value) {
  return format == DType::f8e4m3 ? f8e4m3_from_f32(value) : f8e5m2_from_f32(value);
}

float from_fp8(DType format, std::byte code) {
  const auto bits = std::to_integer<std::uint8_t>(code);
  return format == DType::f8e4m3 ? f32_from_f8e4m3(bits) : f32_from_f8e5m2(bits);
}

// value(i) is the decoded number of steps of element i; kAdd: onto what out holds.
template <bool kAdd, class Value>
void decode(float levels, const float* scales, std::size_t count, float* out, Value value) {
  for (std::size_t i = 0; i < count; ++i) {
    const float step = value_at(scales, i / kQuantiseBucket) / levels;
    const float decoded = value(i) * step;
    put_value(out, i, kAdd ? value_at(out, i) + decoded : decoded);
  }
}

template <bool kAdd>
void decode_codes(int bits, const float* scales, const std::byte* codes, std::size_t count,
                  float* out) {
  decode<kAdd>(static_cast<float>(quantise_levels(bits)), scales, count, out,
               [&](std::size_t i) { return static_cast<float>(code_at(bits, codes, i)); });
}

template <bool kAdd>
void decode_fp8(DType format, const float* scales, const std::byte* codes, std::size_t count,
                float* out) {
  decode<kAdd>(fp8_levels(format), scales, count, out,
               [&](std::size_t i) { return from_fp8(format, codes[i]); });
}

}  // namespace

void quantise(int bits, const QuantiseKey* key, std::uint64_t first, const float* values,
              std::size_t count, float* scales, std::byte* codes) {
  const auto levels = static_cast<float>(quantise_levels(bits));
  std::fill_n(codes, code_bytes(bits, count), std::byte{0});
  for (std::size_t begin = 0; begin < count; begin += kQuantiseBucket) {
    const std::size_t end = std::min(begin + kQuantiseBucket, count);
    const BucketScale bucket = bucket_scale(largest_magnitude(values, begin, end), levels);
    put_value(scales, begin / kQuantiseBucket, bucket.scale);
    if (bucket.inverse == 0) continue;
    for (std::size_t i = begin; i < end; ++i) {
      put_code(bits, codes, i,
               code_of(value_at(values, i), bucket.inverse, levels, key, first + i));
    }
  }
}

void dequantise(int bits, const float* scales, const std::byte* codes, std::size_t count,
                float* out) {
  decode_codes<false>(bits, scales, codes, count, out);
}

void dequantise_add(int bits, const float* scales, const std::byte* codes, std::size_t count,
                    float* accumulator) {
  decode_codes<true>(bits, scales, codes, count, accumulator);
}

void quantise_fp8(DType format, const float* values, std::size_t count, float* scales,
                  std::byte* codes) {
  const float levels = fp8_levels(format);
  for (std::size_t begin = 0; begin < count; begin += kQuantiseBucket) {
    const std::size_t end = std::min(begin + kQuantiseBucket, count);
    const BucketScale bucket = bucket_scale(largest_magnitude(values, begin, end), levels);
    put_value(scales, begin / kQuantiseBucket, bucket.scale);
    for (std::size_t i = begin; i < end; ++i) {
      const float scaled = value_at(values, i) * bucket.inverse;
      codes[i] = bucket.inverse == 0
                     ? std::byte{0}
                     : std::byte{to_fp8(format, std::clamp(scaled, -levels, levels))};
    }
  }
}

void dequantise_fp8(DType format, const float* scales, const std::byte* codes, std::size_t count,
                    float* out) {
  decode_fp8<false>(format, scales, codes, count, out);
}

void dequantise_add_fp8(DType format, const float* scales, const std::byte* codes,
                        std::size_t count, float* accumulator) {
  decode_fp8<true>(format, scales, codes, count, accumulator);
}

bool all_finite(const float* values, std::size_t count) {
  return largest_magnitude(values, 0, count) < kF32Infinity;
}

}  // namespace unisono::kernels::reference
