// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "encode/packet/values.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.hpp"
#include "kernels/kernels.hpp"

namespace unisono::encode {
namespace {

constexpr std::size_t kFloatPiece = 1024;        // elements that stay in the first-level cache
constexpr float kFloat16Max = 65504.0F, kBfloat16Max = 0x1.FEp127F;

DType dtype_of_form(CodecForm form) {
  switch (form) {
    case CodecForm::fp16: return DType::f16;
    case CodecForm::bf16: return DType::bf16;
    case CodecForm::fp8_e4m3: return DType::f8e4m3;
    case CodecForm::fp8_e5m2: return DType::f8e5m2;
    default: return DType::f32;
  }
}

bool is_scaled(CodecForm form) {
  return form == CodecForm::qsgd || form == CodecForm::fp8_e4m3 || form == CodecForm::fp8_e5m2;
}

int code_bits(ValueForm form) {
  if (form.form == CodecForm::qsgd) return form.bits;
  return static_cast<int>(size_of(dtype_of_form(form.form)) * 8);
}

struct Places {
  std::size_t scales, codes;                // in bytes
};
Places places_of(ValueForm form, ValuePart part) {
  UNISONO_CHECK(part.first % kernels::kQuantiseBucket == 0 && part.first + part.count <= part.all);
  return {part.first / kernels::kQuantiseBucket * sizeof(float),
          form.scale_bytes(part.all) + kernels::code_bytes(code_bits(form), part.first)};
}

void write_floats(CodecForm form, const float* values, std::size_t count, std::byte* out) {
  const DType dtype = dtype_of_form(form);
  const float most = form == CodecForm::fp16 ? kFloat16Max : kBfloat16Max;
  std::array<float, kFloatPiece> held;
  for (std::size_t i = 0; i < count; i += kFloatPiece) {
    const std::size_t n = std::min(kFloatPiece, count - i);
    for (std::size_t j = 0; j < n; ++j) held[j] = std::clamp(values[i + j], -most, most);
    kernels::cast(dtype, out + i * size_of(dtype), DType::f32, held.data(), n);
  }
}

// Scales and codes need not be aligned within a packet; kernels take any alignment.
const float* floats_at(const std::byte* at) { return reinterpret_cast<const float*>(at); }

}  // namespace

std::size_t ValueForm::scale_bytes(std::size_t count) const {
  return is_scaled(form) ? kernels::scale_count(count) * sizeof(float) : 0;
}

std::size_t ValueForm::bytes(std::size_t count) const {
  return scale_bytes(count) + kernels::code_bytes(code_bits(*this), count);
}

void write_values(ValueForm form, const kernels::QuantiseKey& key, std::uint64_t origin,
                  ValuePart part, const float* values, std::byte* packed) {
  if (part.count == 0) return;
  const Places at = places_of(form, part);
  auto* scales = reinterpret_cast<float*>(packed + at.scales);
  std::byte* codes = packed + at.codes;
  switch (form.form) {
    case CodecForm::none: std::memcpy(codes, values, part.count * sizeof(float)); return;
    case CodecForm::fp16:
    case CodecForm::bf16: return write_floats(form.form, values, part.count, codes);
    case CodecForm::fp8_e4m3:
    case CodecForm::fp8_e5m2:
      return kernels::quantise_fp8(dtype_of_form(form.form), values, part.count, scales, codes);
    case CodecForm::qsgd:
      return kernels::quantise(form.bits, &key, origin + part.first, values, part.count, scales,
                               codes);
    case CodecForm::powersgd: break;
  }
  check_failed("values of a form", __FILE__, __LINE__);
}

void read_values(ValueForm form, ValuePart part, const std::byte* packed, float* values) {
  if (part.count == 0) return;
  const Places at = places_of(form, part);
  const float* scales = floats_at(packed + at.scales);
  const std::byte* codes = packed + at.codes;
  const DType dtype = dtype_of_form(form.form);
  if (form.form == CodecForm::qsgd) {
    kernels::dequantise(form.bits, scales, codes, part.count, values);
  } else if (is_scaled(form.form)) {
    kernels::dequantise_fp8(dtype, scales, codes, part.count, values);
  } else {
    kernels::cast(DType::f32, values, dtype, codes, part.count);
  }
}

void add_values(ValueForm form, ValuePart part, const std::byte* packed, float* accumulator) {
  if (part.count == 0) return;
  const Places at = places_of(form, part);
  const float* scales = floats_at(packed + at.scales);
  const std::byte* codes = packed + at.codes;
  if (form.form == CodecForm::qsgd) {
    kernels::dequantise_add(form.bits, scales, codes, part.count, accumulator);
  } else if (is_scaled(form.form)) {
    kernels::dequantise_add_fp8(dtype_of_form(form.form), scales, codes, part.count, accumulator);
  } else if (form.form == CodecForm::none) {
    kernels::reduce(DType::f32, ReduceOp::sum, accumulator, codes, part.count);
  } else {
    std::array<float, kFloatPiece> values;
    for (std::size_t i = 0; i < part.count; i += kFloatPiece) {
      const std::size_t n = std::min(kFloatPiece, part.count - i);
      read_values(form, {part.all, part.first + i, n}, packed, values.data());
      kernels::reduce(DType::f32, ReduceOp::sum, accumulator + i, values.data(), n);
    }
  }
}

}  // namespace unisono::encode
