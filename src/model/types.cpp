// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "unisono/types.hpp"

#include <array>

#include "base/data/text.hpp"
#include "model/collective_traits.hpp"

namespace unisono {
namespace {

struct DTypeRow {
  std::string_view name;
  std::size_t size;
};
constexpr std::array<DTypeRow, kDTypeCount> kDTypes = {{{"float32", 4},
                                                        {"float64", 8},
                                                        {"float16", 2},
                                                        {"bfloat16", 2},
                                                        {"float8_e4m3fn", 1},
                                                        {"float8_e5m2", 1},
                                                        {"int8", 1},
                                                        {"int16", 2},
                                                        {"int32", 4},
                                                        {"int64", 8},
                                                        {"uint8", 1},
                                                        {"uint16", 2},
                                                        {"uint32", 4},
                                                        {"uint64", 8},
                                                        {"bool", 1}}};
constexpr std::array<std::string_view, kReduceOpCount> kOps = {
    "sum", "average", "min", "max", "product", "logical_and", "logical_or", "adasum"};

template <std::size_t N>
std::string_view pick(const std::array<std::string_view, N>& names, std::size_t index) {
  return index < N ? names[index] : "unknown";
}

}  // namespace

std::size_t size_of(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  return index < kDTypes.size() ? kDTypes[index].size : 0;
}

std::string_view name_of(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  return index < kDTypes.size() ? kDTypes[index].name : "unknown";
}

std::string_view name_of(ReduceOp op) { return pick(kOps, static_cast<std::size_t>(op)); }
std::string_view name_of(Collective kind) { return traits_of(kind).name; }

std::optional<DType> dtype_from(std::string_view name) {
  struct Alias {
    std::string_view name;
    DType dtype;
  };
  static constexpr Alias kAliases[] = {
      {"fp32", DType::f32},  {"f32", DType::f32},   {"fp64", DType::f64},    {"f64", DType::f64},
      {"fp16", DType::f16},  {"f16", DType::f16},   {"half", DType::f16},    {"bf16", DType::bf16},
      {"fp8", DType::f8e4m3}, {"float8_e4m3", DType::f8e4m3}, {"boolean", DType::boolean}};
  for (std::size_t i = 0; i < kDTypes.size(); ++i) {
    if (kDTypes[i].name == name) return static_cast<DType>(i);
  }
  for (const Alias& alias : kAliases) {
    if (alias.name == name) return alias.dtype;
  }
  return std::nullopt;
}

std::string to_string(const Shape& shape) { return cat("[", join_text(shape), "]"); }

std::optional<std::int64_t> element_count(const Shape& shape) {
  std::int64_t count = 1;
  bool empty = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    if (extent == 0) empty = true;
    if (!empty && __builtin_mul_overflow(count, extent, &count)) return std::nullopt;
  }
  return empty ? 0 : count;
}

}  // namespace unisono
