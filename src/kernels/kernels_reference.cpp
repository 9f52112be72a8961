// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernels_reference.hpp"

#include "kernels/conversion.hpp"
#include "kernels/element.hpp"
#include "kernels/operators.hpp"

namespace unisono::kernels::reference {

namespace {

template <typename E>
typename E::Value largest_of() {
  using Limits = std::numeric_limits<typename E::Value>;
  if constexpr (E::dtype == DType::f8e4m3) return 448.0f;  // it has no infinity
  if constexpr (Limits::has_infinity) return Limits::infinity();
  return Limits::max();
}

template <typename E>
typename E::Value scale_value(typename E::Value value, double factor) {
  using Value = typename E::Value;
  if constexpr (is_float_element<E>) {
    return value * static_cast<Value>(factor);
  } else if constexpr (is_integer_element<E>) {
    return saturating_truncate<Value>(static_cast<double>(value) * factor);
  } else {
    return value && factor != 0;
  }
}

}  // namespace

void reduce_many(DType dtype, ReduceOp op, void* out, std::span<const void* const> inputs,
                 std::size_t first, std::size_t count) {
  visit_dtype(dtype, [&](auto element) {
    using E = decltype(element);
    visit_op(op, [&](auto which) {
      for (std::size_t i = first; i < count; ++i) {
        auto sum = load_element<E>(inputs[0], i);
        for (std::size_t k = 1; k < inputs.size(); ++k) {
          sum = apply<decltype(which)::value>(sum, load_element<E>(inputs[k], i));
        }
        store_element<E>(out, i, sum);
      }
    });
  });
}

void scale(DType dtype, void* out, const void* in, double factor, std::size_t first,
           std::size_t count) {
  visit_dtype(dtype, [&](auto element) {
    using E = decltype(element);
    for (std::size_t i = first; i < count; ++i) {
      store_element<E>(out, i, scale_value<E>(load_element<E>(in, i), factor));
    }
  });
}

void cast(DType to, void* out, DType from, const void* in, std::size_t first, std::size_t count) {
  visit_dtype(to, [&](auto to_element) {
    using To = decltype(to_element);
    visit_dtype(from, [&](auto from_element) {
      using From = decltype(from_element);
      constexpr bool narrow = is_float_element<To> && sizeof(typename To::Stored) < 4;
      for (std::size_t i = first; i < count; ++i) {
        const auto value = load_element<From>(in, i);
        store_element<To>(out, i, convert_value<typename To::Value, narrow>(value));
      }
    });
  });
}

void divide(DType dtype, void* data, std::int64_t divisor, std::size_t count) {
  UNISONO_CHECK(divisor > 0);
  visit_dtype(dtype, [&](auto element) {
    using E = decltype(element);
    if constexpr (is_integer_element<E>) {
      using Value = typename E::Value;
      using Wide = std::conditional_t<std::is_signed_v<Value>, std::int64_t, std::uint64_t>;
      const auto wide_divisor = static_cast<Wide>(divisor);
      for (std::size_t i = 0; i < count; ++i) {
        const auto value = static_cast<Wide>(load_element<E>(data, i));
        store_element<E>(data, i, static_cast<Value>(value / wide_divisor));
      }
    }
  });
}

void fill_neutral(DType dtype, ReduceOp op, void* out, std::size_t count) {
  visit_dtype(dtype, [&](auto element) {
    using E = decltype(element);
    const auto neutral = neutral_of<typename E::Value>(op, largest_of<E>());
    for (std::size_t i = 0; i < count; ++i) store_element<E>(out, i, neutral);
  });
}

}  // namespace unisono::kernels::reference
