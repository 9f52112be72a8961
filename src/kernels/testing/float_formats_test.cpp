// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/float_formats.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/kernels.hpp"

namespace unisono::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The value of a code by the definition of the format, without bit tricks.
double by_definition(std::uint32_t code, int mantissa_bits, int bias) {
  const int exponent = static_cast<int>(code >> mantissa_bits);
  const double fraction = std::ldexp(code & ((1u << mantissa_bits) - 1), -mantissa_bits);
  return exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
}

// Decoding follows the definition; the midpoint between neighbours goes to the even code, and
// what lies just off the midpoint to the nearer one.
template <typename Bits, typename Decode, typename Encode>
void check_finite(std::uint32_t largest, int mantissa_bits, int bias, Decode decode,
                  Encode encode) {
  constexpr std::uint32_t sign = std::uint32_t{1} << (8 * sizeof(Bits) - 1);
  for (std::uint32_t code = 0; code <= largest; ++code) {
    const float value = decode(static_cast<Bits>(code));
    ASSERT_EQ(static_cast<double>(value), by_definition(code, mantissa_bits, bias)) << code;
    ASSERT_EQ(encode(value), code);
    ASSERT_EQ(encode(-value), code | sign);
    ASSERT_EQ(decode(static_cast<Bits>(code | sign)), -value);
    if (code == largest) break;
    const double next = by_definition(code + 1, mantissa_bits, bias);
    const auto middle = static_cast<float>((static_cast<double>(value) + next) / 2);
    if (static_cast<double>(middle) * 2 != static_cast<double>(value) + next) continue;
    ASSERT_EQ(encode(middle), code + (code & 1)) << code;
    ASSERT_EQ(encode(std::nextafter(middle, 0.0f)), code);
    ASSERT_EQ(encode(std::nextafter(middle, kInfinity)), code + 1);
  }
}

TEST(FloatFormats, EveryFiniteCodeConvertsBothWaysToNearestEven) {
  check_finite<std::uint16_t>(0x7BFF, 10, 15, f32_from_f16, f16_from_f32);
  check_finite<std::uint16_t>(0x7F7F, 7, 127, f32_from_bf16, bf16_from_f32);
  check_finite<std::uint8_t>(0x7E, 3, 7, f32_from_f8e4m3, f8e4m3_from_f32);
  check_finite<std::uint8_t>(0x7B, 2, 15, f32_from_f8e5m2, f8e5m2_from_f32);
}

TEST(FloatFormats, OverflowGoesToInfinityOrToNanWhereThereIsNone) {
  EXPECT_EQ(f16_from_f32(65519.996f), 0x7BFF);
  EXPECT_EQ(f16_from_f32(65520.0f), 0x7C00);
  EXPECT_EQ(f16_from_f32(-kInfinity), 0xFC00);
  EXPECT_EQ(bf16_from_f32(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_EQ(f8e4m3_from_f32(464.0f), 0x7E);
  EXPECT_EQ(f8e4m3_from_f32(std::nextafter(464.0f, 500.0f)), 0x7F);
  EXPECT_EQ(f8e4m3_from_f32(-kInfinity), 0xFF);
  EXPECT_EQ(f8e5m2_from_f32(61439.0f), 0x7B);
  EXPECT_EQ(f8e5m2_from_f32(61440.0f), 0x7C);
}

TEST(FloatFormats, NanStaysNanWithItsSign) {
  for (std::uint32_t low = 1; low < 0x800000; low = low * 2 + 1) {
    for (const std::uint32_t sign : {0u, kF32Sign}) {
      const float nan = std::bit_cast<float>(sign | kF32Infinity | low);
      for (const float back : {f32_from_f16(f16_from_f32(nan)), f32_from_bf16(bf16_from_f32(nan)),
                               f32_from_f8e4m3(f8e4m3_from_f32(nan)),
                               f32_from_f8e5m2(f8e5m2_from_f32(nan))}) {
        EXPECT_TRUE(std::isnan(back));
        EXPECT_EQ(std::signbit(back), sign != 0);
      }
    }
  }
}

// All 65,536 codes through the vector kernels, and a neighbourhood of each code on the way back.
template <typename Decode, typename Encode>
void check_vector_casts(DType dtype, Decode decode, Encode encode) {
  std::vector<std::uint16_t> codes(65536);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint16_t>(i);
  std::vector<float> wide(codes.size());
  cast(DType::f32, wide.data(), dtype, codes.data(), codes.size());
  std::vector<float> probes;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(wide[i]);
    ASSERT_EQ(bits, std::bit_cast<std::uint32_t>(decode(codes[i]))) << i;
    for (const std::uint32_t delta :
         {0u, 1u, 0xFFFu, 0x1000u, 0x1001u, 0x7FFFu, 0x8000u, 0x8001u}) {
      probes.push_back(std::bit_cast<float>(bits + delta));
    }
  }
  std::vector<std::uint16_t> narrow(probes.size());
  cast(dtype, narrow.data(), DType::f32, probes.data(), probes.size());
  for (std::size_t i = 0; i < probes.size(); ++i) ASSERT_EQ(narrow[i], encode(probes[i])) << i;
}

TEST(FloatFormats, VectorCastsEqualScalarOnesForAllCodes) {
  check_vector_casts(DType::f16, f32_from_f16, f16_from_f32);
  check_vector_casts(DType::bf16, f32_from_bf16, bf16_from_f32);
}

}  // namespace
}  // namespace unisono::kernels
