// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The small vocabulary of the public API: element types, operators, collectives, shapes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "unisono/export.hpp"

namespace unisono {

using Rank = int;
using Shape = std::vector<std::int64_t>;  // {} is a 0-d tensor of one element

// Numbers are part of the C ABI and the wire format: add at the end, never renumber.
enum class DType : std::uint8_t {
  f32 = 0,
  f64 = 1,
  f16 = 2,
  bf16 = 3,
  f8e4m3 = 4,
  f8e5m2 = 5,
  i8 = 6,
  i16 = 7,
  i32 = 8,
  i64 = 9,
  u8 = 10,
  u16 = 11,
  u32 = 12,
  u64 = 13,
  boolean = 14,
};
inline constexpr int kDTypeCount = 15;

// On booleans: sum, max and logical_or are "or"; product, min and logical_and are "and".
enum class ReduceOp : std::uint8_t {
  sum = 0,
  average = 1,
  min = 2,
  max = 3,
  product = 4,
  logical_and = 5,
  logical_or = 6,
  adasum = 7,  // allreduce of floats only: adds what differs, averages what agrees
};
inline constexpr int kReduceOpCount = 8;
inline constexpr int kElementwiseOpCount = 7;  // those below work element by element

enum class Collective : std::uint8_t {
  allreduce = 0,
  allgather = 1,
  broadcast = 2,
  reducescatter = 3,
  alltoall = 4,
  barrier = 5,
  join = 6,
  add_process_set = 7,
  remove_process_set = 8,
  prepare = 9,                          // agrees on a persistent allreduce; moves nothing
  switch_order = 10,                    // agrees on another strategy; moves nothing
  // 11 is the engine's own.
  sparse_allreduce = 12,                // of indices and values: unisono/sparse.hpp
  sparse_allgather = 13,
};

UNISONO_API std::size_t size_of(DType dtype);
UNISONO_API std::string_view name_of(DType dtype);        // "float32", as NumPy says it
UNISONO_API std::string_view name_of(ReduceOp op);        // "sum"
UNISONO_API std::string_view name_of(Collective kind);    // "allreduce"
UNISONO_API std::optional<DType> dtype_from(std::string_view name);
UNISONO_API std::string to_string(const Shape& shape);    // "[3, 4]"
// Elements in a shape; nullopt when a dimension is negative or the product overflows 63 bits.
UNISONO_API std::optional<std::int64_t> element_count(const Shape& shape);

// dtype_of<T>: which DType a C++ element type is. 16- and 8-bit floats are passed as raw bits
// through submit().
template <typename T>
struct DTypeOf;
template <> struct DTypeOf<float> { static constexpr DType value = DType::f32; };
template <> struct DTypeOf<double> { static constexpr DType value = DType::f64; };
template <> struct DTypeOf<std::int8_t> { static constexpr DType value = DType::i8; };
template <> struct DTypeOf<std::int16_t> { static constexpr DType value = DType::i16; };
template <> struct DTypeOf<std::int32_t> { static constexpr DType value = DType::i32; };
template <> struct DTypeOf<std::int64_t> { static constexpr DType value = DType::i64; };
template <> struct DTypeOf<std::uint8_t> { static constexpr DType value = DType::u8; };
template <> struct DTypeOf<std::uint16_t> { static constexpr DType value = DType::u16; };
template <> struct DTypeOf<std::uint32_t> { static constexpr DType value = DType::u32; };
template <> struct DTypeOf<std::uint64_t> { static constexpr DType value = DType::u64; };
template <> struct DTypeOf<bool> { static constexpr DType value = DType::boolean; };
template <typename T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

}  // namespace unisono
