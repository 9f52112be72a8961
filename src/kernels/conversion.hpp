// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// One value from one number type to another, rounding once. Pure; thread: any.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace unisono::kernels {

// Truncates toward zero and saturates; NaN becomes 0.
template <typename Integer, typename Float>
Integer saturating_truncate(Float value) {
  using Limits = std::numeric_limits<Integer>;
  if (value != value) return 0;
  // The lowest value and one past the largest are powers of two, so both are exact floats.
  const Float past_largest = static_cast<Float>(Limits::max() / 2 + 1) * Float{2};
  if (value >= past_largest) return Limits::max();
  if (value <= static_cast<Float>(Limits::lowest())) return Limits::lowest();
  return static_cast<Integer>(value);
}

// The f32 next to a double, with the last bit set when anything was lost: a later rounding to a
// format at least two bits narrower then rounds as if from the double itself.
inline float f32_round_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  const auto back = static_cast<double>(nearest);
  if (value != value || back == value) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  const bool away = (value < 0 ? -back : back) > (value < 0 ? -value : value);
  if (away) --bits;  // towards zero; from infinity to the largest finite
  return std::bit_cast<float>(bits | 1u);
}

// The same for 64-bit integers, which do not fit a double either.
template <typename Integer>
double f64_round_to_odd(Integer value) {
  if constexpr (sizeof(Integer) < 8) {
    return static_cast<double>(value);
  } else {
    const bool negative = value < 0;
    auto magnitude = static_cast<std::uint64_t>(value);
    if (negative) magnitude = 0 - magnitude;
    if (magnitude >> 53 != 0) {
      const bool lost = (magnitude & 0x7FFu) != 0;
      magnitude = (magnitude & ~std::uint64_t{0x7FFu}) | (lost ? 0x800u : 0u);
    }
    const auto exact = static_cast<double>(magnitude);
    return negative ? -exact : exact;
  }
}

// kNarrow: the value goes on to a format narrower than To, so To must not round to nearest.
template <typename To, bool kNarrow, typename From>
To convert_value(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From{};
  } else if constexpr (std::is_same_v<To, From> || std::is_same_v<From, bool>) {
    return static_cast<To>(value);
  } else if constexpr (kNarrow && std::is_same_v<From, double>) {
    return f32_round_to_odd(value);
  } else if constexpr (kNarrow && std::is_integral_v<From>) {
    return f32_round_to_odd(f64_round_to_odd(value));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return saturating_truncate<To>(value);
  } else {
    return static_cast<To>(value);  // between integers this wraps
  }
}

}  // namespace unisono::kernels
