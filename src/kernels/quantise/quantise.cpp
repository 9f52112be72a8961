// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/quantise/quantise.hpp"

#include "base/check.hpp"
#include "kernels/quantise/quantise_reference.hpp"

namespace unisono::kernels {

namespace {

bool is_code_width(int bits) { return bits == 2 || bits == 4 || bits == 8; }
bool is_fp8(DType format) { return format == DType::f8e4m3 || format == DType::f8e5m2; }

}  // namespace

void quantise(int bits, const QuantiseKey* key, std::uint64_t first, const float* values,
              std::size_t count, float* scales, std::byte* codes) {
  UNISONO_CHECK(is_code_width(bits));
  UNISONO_CHECK(key == nullptr || first % kQuantiseBucket == 0);
  reference::quantise(bits, key, first, values, count, scales, codes);
}

void dequantise(int bits, const float* scales, const std::byte* codes, std::size_t count,
                float* out) {
  UNISONO_CHECK(is_code_width(bits));
  reference::dequantise(bits, scales, codes, count, out);
}

void dequantise_add(int bits, const float* scales, const std::byte* codes, std::size_t count,
                    float* accumulator) {
  UNISONO_CHECK(is_code_width(bits));
  reference::dequantise_add(bits, scales, codes, count, accumulator);
}

void quantise_fp8(DType format, const float* values, std::size_t count, float* scales,
                  std::byte* codes) {
  UNISONO_CHECK(is_fp8(format));
  reference::quantise_fp8(format, values, count, scales, codes);
}

void dequantise_fp8(DType format, const float* scales, const std::byte* codes, std::size_t count,
                    float* out) {
  UNISONO_CHECK(is_fp8(format));
  reference::dequantise_fp8(format, scales, codes, count, out);
}

void dequantise_add_fp8(DType format, const float* scales, const std::byte* codes,
                        std::size_t count, float* accumulator) {
  UNISONO_CHECK(is_fp8(format));
  reference::dequantise_add_fp8(format, scales, codes, count, accumulator);
}

bool all_finite(const float* values, std::size_t count) {
  return reference::all_finite(values, count);
}

}  // namespace unisono::kernels
