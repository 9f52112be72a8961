// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The small floats, bit by bit: f16, bf16, f8e4m3 (the "fn" variant) and f8e5m2 to and from f32.
// Rounding is to nearest even. A value too large becomes infinity, or NaN in f8e4m3, which has no
// infinity. NaN stays a quiet NaN with its sign; f16 and bf16 keep its leading payload bits, as
// hardware does, the 8-bit formats keep none. Pure functions; thread: any.
#pragma once

#include <bit>
#include <cstdint>

namespace unisono::kernels {

inline constexpr std::uint32_t kF32Sign = 0x80000000u;
inline constexpr std::uint32_t kF32Infinity = 0x7F800000u;
inline constexpr std::uint32_t kF32Quiet = 0x00400000u;

namespace detail {

// The code of a finite magnitude in a format of kMantissa bits and exponent bias kBias. The code
// runs on past the format's largest value, so the caller can see an overflow.
template <int kMantissa, int kBias>
inline std::uint32_t code_of_magnitude(std::uint32_t magnitude) {
  constexpr int shift = 23 - kMantissa;
  constexpr std::uint32_t rebias = static_cast<std::uint32_t>(127 - kBias) << 23;
  constexpr std::uint32_t smallest_normal = static_cast<std::uint32_t>(128 - kBias) << 23;
  if (magnitude >= smallest_normal) {
    const std::uint32_t half = (1u << (shift - 1)) - 1 + ((magnitude >> shift) & 1);
    return (magnitude + half - rebias) >> shift;
  }
  // Adding a number whose last bit weighs as much as the format's smallest step lets the
  // floating-point unit round.
  constexpr auto magic = static_cast<std::uint32_t>(127 + 24 - kBias - kMantissa) << 23;
  const float rounded = std::bit_cast<float>(magnitude) + std::bit_cast<float>(magic);
  return std::bit_cast<std::uint32_t>(rounded) - magic;
}

template <int kMantissa, int kBias>
inline float value_of_code(std::uint32_t code) {
  constexpr std::uint32_t rebias = static_cast<std::uint32_t>(127 - kBias) << 23;
  if ((code >> kMantissa) != 0) return std::bit_cast<float>((code << (23 - kMantissa)) + rebias);
  constexpr auto step = static_cast<std::uint32_t>(127 + 1 - kBias - kMantissa) << 23;
  return static_cast<float>(code) * std::bit_cast<float>(step);
}

inline float with_sign(float magnitude, bool negative) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | (negative ? kF32Sign : 0));
}

}  // namespace detail

inline std::uint16_t f16_from_f32(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits & kF32Sign) >> 16;
  const std::uint32_t magnitude = bits & ~kF32Sign;
  if (magnitude > kF32Infinity) {
    return static_cast<std::uint16_t>(sign | 0x7E00u | ((magnitude >> 13) & 0x3FFu));
  }
  const std::uint32_t code = detail::code_of_magnitude<10, 15>(magnitude);
  return static_cast<std::uint16_t>(sign | (code < 0x7C00u ? code : 0x7C00u));
}

inline float f32_from_f16(std::uint16_t bits) {
  const std::uint32_t code = bits & 0x7FFFu;
  const bool negative = (bits & 0x8000u) != 0;
  if (code < 0x7C00u) return detail::with_sign(detail::value_of_code<10, 15>(code), negative);
  const std::uint32_t payload = (code & 0x3FFu) << 13;
  const std::uint32_t special = kF32Infinity | payload | (payload != 0 ? kF32Quiet : 0);
  return detail::with_sign(std::bit_cast<float>(special), negative);
}

inline std::uint16_t bf16_from_f32(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & ~kF32Sign) > kF32Infinity) {
    return static_cast<std::uint16_t>((bits | kF32Quiet) >> 16);
  }
  return static_cast<std::uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1)) >> 16);
}

inline float f32_from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

inline std::uint8_t f8e4m3_from_f32(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits & kF32Sign) >> 24;
  const std::uint32_t magnitude = bits & ~kF32Sign;
  std::uint32_t code = 0x7F;
  if (magnitude < kF32Infinity) code = detail::code_of_magnitude<3, 7>(magnitude);
  return static_cast<std::uint8_t>(sign | (code < 0x7F ? code : 0x7Fu));
}

inline float f32_from_f8e4m3(std::uint8_t bits) {
  const std::uint32_t code = bits & 0x7Fu;
  const float magnitude = code == 0x7F ? std::bit_cast<float>(kF32Infinity | kF32Quiet)
                                       : detail::value_of_code<3, 7>(code);
  return detail::with_sign(magnitude, (bits & 0x80u) != 0);
}

inline std::uint8_t f8e5m2_from_f32(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits & kF32Sign) >> 24;
  const std::uint32_t magnitude = bits & ~kF32Sign;
  if (magnitude > kF32Infinity) return static_cast<std::uint8_t>(sign | 0x7Eu);
  const std::uint32_t code = detail::code_of_magnitude<2, 15>(magnitude);
  return static_cast<std::uint8_t>(sign | (code < 0x7C ? code : 0x7Cu));
}

inline float f32_from_f8e5m2(std::uint8_t bits) {
  const std::uint32_t code = bits & 0x7Fu;
  const bool negative = (bits & 0x80u) != 0;
  if (code < 0x7C) return detail::with_sign(detail::value_of_code<2, 15>(code), negative);
  const std::uint32_t special = kF32Infinity | (code > 0x7C ? kF32Quiet : 0);
  return detail::with_sign(std::bit_cast<float>(special), negative);
}

}  // namespace unisono::kernels
