// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What one element of each dtype is: how it is stored, in which type it computes, how it is read
// and written at any alignment. visit_dtype turns a run-time dtype into an Element type.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/check.hpp"
#include "kernels/float_formats.hpp"
#include "unisono/types.hpp"

namespace unisono::kernels {

// A type that computes as it is stored.
template <DType kDType, typename T>
struct PlainElement {
  static constexpr DType dtype = kDType;
  using Stored = T;
  using Value = T;
  static T decode(T stored) { return stored; }
  static T encode(T value) { return value; }
};

// A small float that computes in f32.
template <DType kDType, typename Bits, float (*kDecode)(Bits), Bits (*kEncode)(float)>
struct SmallFloat {
  static constexpr DType dtype = kDType;
  using Stored = Bits;
  using Value = float;
  static float decode(Bits stored) { return kDecode(stored); }
  static Bits encode(float value) { return kEncode(value); }
};

// Any byte but 0 is true; what is written is 0 or 1.
struct BooleanElement {
  static constexpr DType dtype = DType::boolean;
  using Stored = std::uint8_t;
  using Value = bool;
  static bool decode(std::uint8_t stored) { return stored != 0; }
  static std::uint8_t encode(bool value) { return value ? 1 : 0; }
};

template <typename E>
inline constexpr bool is_float_element = std::is_floating_point_v<typename E::Value>;
template <typename E>
inline constexpr bool is_integer_element =
    std::is_integral_v<typename E::Value> && !std::is_same_v<typename E::Value, bool>;

template <typename E>
typename E::Value load_element(const void* base, std::size_t index) {
  typename E::Stored stored;
  std::memcpy(&stored, static_cast<const std::byte*>(base) + index * sizeof stored, sizeof stored);
  return E::decode(stored);
}

template <typename E>
void store_element(void* base, std::size_t index, typename E::Value value) {
  const typename E::Stored stored = E::encode(value);
  std::memcpy(static_cast<std::byte*>(base) + index * sizeof stored, &stored, sizeof stored);
}

// Calls visitor(Element{}) for the dtype.
template <typename Visitor>
decltype(auto) visit_dtype(DType dtype, Visitor&& visitor) {
  switch (dtype) {
    case DType::f32: return visitor(PlainElement<DType::f32, float>{});
    case DType::f64: return visitor(PlainElement<DType::f64, double>{});
    case DType::f16:
      return visitor(SmallFloat<DType::f16, std::uint16_t, f32_from_f16, f16_from_f32>{});
    case DType::bf16:
      return visitor(SmallFloat<DType::bf16, std::uint16_t, f32_from_bf16, bf16_from_f32>{});
    case DType::f8e4m3:
      return visitor(SmallFloat<DType::f8e4m3, std::uint8_t, f32_from_f8e4m3, f8e4m3_from_f32>{});
    case DType::f8e5m2:
      return visitor(SmallFloat<DType::f8e5m2, std::uint8_t, f32_from_f8e5m2, f8e5m2_from_f32>{});
    case DType::i8: return visitor(PlainElement<DType::i8, std::int8_t>{});
    case DType::i16: return visitor(PlainElement<DType::i16, std::int16_t>{});
    case DType::i32: return visitor(PlainElement<DType::i32, std::int32_t>{});
    case DType::i64: return visitor(PlainElement<DType::i64, std::int64_t>{});
    case DType::u8: return visitor(PlainElement<DType::u8, std::uint8_t>{});
    case DType::u16: return visitor(PlainElement<DType::u16, std::uint16_t>{});
    case DType::u32: return visitor(PlainElement<DType::u32, std::uint32_t>{});
    case DType::u64: return visitor(PlainElement<DType::u64, std::uint64_t>{});
    case DType::boolean: return visitor(BooleanElement{});
  }
  check_failed("known dtype", __FILE__, __LINE__);
}

}  // namespace unisono::kernels
