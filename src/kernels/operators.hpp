// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// One application of each operator to two values, and its neutral element. Pure; thread: any.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/check.hpp"
#include "unisono/types.hpp"

namespace unisono::kernels {

// Unsigned arithmetic wraps; going through 64 bits also keeps narrow types clear of the implicit
// promotion to int, whose products can overflow.
template <typename T>
T wrapping_sum(T a, T b) {
  return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
template <typename T>
T wrapping_product(T a, T b) {
  return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

template <typename T>
T float_extreme(T a, T b, bool want_min) {
  if (a != a || b != b) return std::numeric_limits<T>::quiet_NaN();
  if (a == b) return std::signbit(a) == want_min ? a : b;  // matters for zeros only
  return (a < b) == want_min ? a : b;
}

template <ReduceOp kOp, typename T>
T apply(T a, T b) {
  constexpr bool or_like =
      kOp == ReduceOp::sum || kOp == ReduceOp::max || kOp == ReduceOp::logical_or;
  if constexpr (std::is_same_v<T, bool>) {
    return or_like ? (a || b) : (a && b);
  } else if constexpr (kOp == ReduceOp::logical_and) {
    return static_cast<T>(a != T{} && b != T{});
  } else if constexpr (kOp == ReduceOp::logical_or) {
    return static_cast<T>(a != T{} || b != T{});
  } else if constexpr (std::is_floating_point_v<T>) {
    if constexpr (kOp == ReduceOp::sum) return a + b;
    if constexpr (kOp == ReduceOp::product) return a * b;
    return float_extreme(a, b, kOp == ReduceOp::min);
  } else {
    if constexpr (kOp == ReduceOp::sum) return wrapping_sum(a, b);
    if constexpr (kOp == ReduceOp::product) return wrapping_product(a, b);
    return (b < a) == (kOp == ReduceOp::min) ? b : a;
  }
}

// Calls visitor(std::integral_constant<ReduceOp, ...>{}); average reduces like sum.
template <typename Visitor>
decltype(auto) visit_op(ReduceOp op, Visitor&& visitor) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::average: return visitor(std::integral_constant<ReduceOp, ReduceOp::sum>{});
    case ReduceOp::min: return visitor(std::integral_constant<ReduceOp, ReduceOp::min>{});
    case ReduceOp::max: return visitor(std::integral_constant<ReduceOp, ReduceOp::max>{});
    case ReduceOp::product:
      return visitor(std::integral_constant<ReduceOp, ReduceOp::product>{});
    case ReduceOp::logical_and:
      return visitor(std::integral_constant<ReduceOp, ReduceOp::logical_and>{});
    case ReduceOp::logical_or:
      return visitor(std::integral_constant<ReduceOp, ReduceOp::logical_or>{});
    case ReduceOp::adasum: break;           // works on whole vectors: kernels/linear.hpp
  }
  check_failed("known operator", __FILE__, __LINE__);
}

// largest is the type's own: a small float has other limits than the f32 it computes in.
template <typename T>
T neutral_of(ReduceOp op, T largest) {
  switch (op) {
    case ReduceOp::product:
    case ReduceOp::logical_and: return T{1};
    case ReduceOp::min: return largest;
    case ReduceOp::max:
      if constexpr (std::is_floating_point_v<T>) return -largest;
      return std::numeric_limits<T>::lowest();
    default: return T{};
  }
}

}  // namespace unisono::kernels
