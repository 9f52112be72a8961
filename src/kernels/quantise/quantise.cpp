// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The vector kernels take whole buckets. The last one, if shorter, is filled up with zeros in a
// copy, which change neither its scale nor the other codes.
#include "kernels/quantise/quantise.hpp"

#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "kernels/quantise/quantise_reference.hpp"
#include "kernels/quantise/quantise_simd.hpp"

namespace unisono::kernels {

namespace {

bool is_code_width(int bits) {
  return bits == 2 || bits == 4 || bits == 8;
}
bool is_fp8_format(DType format) {
  return format == DType::f8e4m3 || format == DType::f8e5m2;
}

// Moves by bytes, as memory may have any alignment.
const float* elements_from(const float* values, std::size_t i) {
  return reinterpret_cast<const float*>(reinterpret_cast<const std::byte*>(values) +
                                        i * sizeof(float));
}
float* elements_from(float* values, std::size_t i) {
  return reinterpret_cast<float*>(reinterpret_cast<std::byte*>(values) + i * sizeof(float));
}

// buckets(values, first, buckets, scales, codes) encodes whole buckets or says that it cannot;
// bits are those of a code.
template <class Buckets>
bool encode(int bits, const float* values, std::size_t count, float* scales, std::byte* codes,
            Buckets buckets) {
  const std::size_t whole = count / kQuantiseBucket, rest = count % kQuantiseBucket;
  const std::size_t done = whole * kQuantiseBucket;
  if (!buckets(values, 0, whole, scales, codes)) return false;
  if (rest == 0) return true;
  alignas(64) float last[kQuantiseBucket] = {};
  alignas(64) std::byte last_codes[kQuantiseBucket];
  std::memcpy(last, elements_from(values, done), rest * sizeof(float));
  buckets(last, done, 1, elements_from(scales, whole), last_codes);
  std::memcpy(codes + code_bytes(bits, done), last_codes, code_bytes(bits, rest));
  return true;
}

// buckets(scales, codes, buckets, out) decodes whole buckets or says that it cannot.
template <class Buckets>
bool decode(int bits, const float* scales, const std::byte* codes, std::size_t count, bool add,
            float* out, Buckets buckets) {
  const std::size_t whole = count / kQuantiseBucket, rest = count % kQuantiseBucket;
  const std::size_t done = whole * kQuantiseBucket;
  if (!buckets(scales, codes, whole, out)) return false;
  if (rest == 0) return true;
  alignas(64) float last[kQuantiseBucket] = {};
  alignas(64) std::byte last_codes[kQuantiseBucket] = {};
  std::memcpy(last_codes, codes + code_bytes(bits, done), code_bytes(bits, rest));
  if (add) std::memcpy(last, elements_from(out, done), rest * sizeof(float));
  buckets(elements_from(scales, whole), last_codes, 1, last);
  std::memcpy(elements_from(out, done), last, rest * sizeof(float));
  return true;
}

bool decode_bits(int bits, const float* scales, const std::byte* codes, std::size_t count, bool add,
                 float* out) {
  return decode(bits, scales, codes, count, add, out,
                [&](const float* s, const std::byte* c, std::size_t buckets, float* to) {
                  return simd::dequantise(bits, s, c, buckets, add, to);
                });
}

bool decode_floats(DType format, const float* scales, const std::byte* codes, std::size_t count,
                   bool add, float* out) {
  return decode(8, scales, codes, count, add, out,
                [&](const float* s, const std::byte* c, std::size_t buckets, float* to) {
                  return simd::dequantise_fp8(format, s, c, buckets, add, to);
                });
}

}  // namespace

void quantise(int bits, const QuantiseKey* key, std::uint64_t first, const float* values,
              std::size_t count, float* scales, std::byte* codes) {
  UNISONO_CHECK(is_code_width(bits));
  UNISONO_CHECK(key == nullptr || first % kQuantiseBucket == 0);
  const auto buckets = [&](const float* from, std::size_t done, std::size_t n, float* to_scales,
                           std::byte* to) {
    return simd::quantise(bits, key, first + done, from, n, to_scales, to);
  };
  if (encode(bits, values, count, scales, codes, buckets)) return;
  reference::quantise(bits, key, first, values, count, scales, codes);
}

void dequantise(int bits, const float* scales, const std::byte* codes, std::size_t count,
                float* out) {
  UNISONO_CHECK(is_code_width(bits));
  if (decode_bits(bits, scales, codes, count, false, out)) return;
  reference::dequantise(bits, scales, codes, count, out);
}

void dequantise_add(int bits, const float* scales, const std::byte* codes, std::size_t count,
                    float* accumulator) {
  UNISONO_CHECK(is_code_width(bits));
  if (decode_bits(bits, scales, codes, count, true, accumulator)) return;
  reference::dequantise_add(bits, scales, codes, count, accumulator);
}

void quantise_fp8(DType format, const float* values, std::size_t count, float* scales,
                  std::byte* codes) {
  UNISONO_CHECK(is_fp8_format(format));
  const auto buckets = [&](const float* from, std::size_t, std::size_t n, float* to_scales,
                           std::byte* to) {
    return simd::quantise_fp8(format, from, n, to_scales, to);
  };
  if (encode(8, values, count, scales, codes, buckets)) return;
  reference::quantise_fp8(format, values, count, scales, codes);
}

void dequantise_fp8(DType format, const float* scales, const std::byte* codes, std::size_t count,
                    float* out) {
  UNISONO_CHECK(is_fp8_format(format));
  if (decode_floats(format, scales, codes, count, false, out)) return;
  reference::dequantise_fp8(format, scales, codes, count, out);
}

void dequantise_add_fp8(DType format, const float* scales, const std::byte* codes,
                        std::size_t count, float* accumulator) {
  UNISONO_CHECK(is_fp8_format(format));
  if (decode_floats(format, scales, codes, count, true, accumulator)) return;
  reference::dequantise_add_fp8(format, scales, codes, count, accumulator);
}

bool all_finite(const float* values, std::size_t count) {
  // By pieces, so that one that is not finite is found early.
  constexpr std::size_t piece = 16 * kQuantiseBucket;
  for (std::size_t begin = 0; begin < count; begin += piece) {
    const float* const from = elements_from(values, begin);
    const std::size_t length = std::min(piece, count - begin);
    const simd::LeadingMagnitude leading = simd::largest_magnitude(from, length);
    if (leading.largest >= kF32Infinity ||
        !reference::all_finite(elements_from(from, leading.count), length - leading.count)) {
      return false;
    }
  }
  return true;
}

}  // namespace unisono::kernels
