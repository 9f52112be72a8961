// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <vector>

#include "kernels/kernels.hpp"

namespace unisono::kernels {

namespace {

constexpr std::size_t kPartialBlock = 1024;  // elements; two blocks of them stay in the cache

const std::byte* place_in(const Operand& operand, DType dtype, std::size_t element) {
  const std::size_t width = operand.partial ? sizeof(float) : size_of(dtype);
  return static_cast<const std::byte*>(operand.at) + element * width;
}

void load_partials(const Operand& operand, DType dtype, std::size_t begin, std::size_t count,
                   float* out) {
  cast(DType::f32, out, operand.partial ? DType::f32 : dtype, place_in(operand, dtype, begin),
       count);
}

}  // namespace

bool wants_partials(DType dtype, ReduceOp op) {
  const bool is_short = dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f8e4m3 ||
                        dtype == DType::f8e5m2;
  return is_short &&
         (op == ReduceOp::sum || op == ReduceOp::average || op == ReduceOp::product);
}

void reduce_partials(DType dtype, ReduceOp op, void* out, bool out_partial,
                     std::span<const Operand> inputs, std::size_t count) {
  const bool some = std::any_of(inputs.begin(), inputs.end(),
                                [](const Operand& input) { return input.partial; });
  if (!out_partial && !some) {
    std::array<const void*, 16> few;
    std::vector<const void*> many(inputs.size() > few.size() ? inputs.size() : 0);
    const auto places = many.empty() ? std::span(few).first(inputs.size()) : std::span(many);
    std::transform(inputs.begin(), inputs.end(), places.begin(),
                   [](const Operand& input) { return input.at; });
    return reduce_many(dtype, op, out, places, count);
  }
  alignas(64) float sum[kPartialBlock], next[kPartialBlock];
  const DType out_dtype = out_partial ? DType::f32 : dtype;
  for (std::size_t begin = 0; begin < count; begin += kPartialBlock) {
    const std::size_t length = std::min(kPartialBlock, count - begin);
    load_partials(inputs[0], dtype, begin, length, sum);
    for (const Operand& input : inputs.subspan(1)) {
      const void* other = next;
      if (input.partial) {
        other = place_in(input, dtype, begin);
      } else {
        load_partials(input, dtype, begin, length, next);
      }
      reduce(DType::f32, op, sum, other, length);
    }
    cast(out_dtype, static_cast<std::byte*>(out) + begin * size_of(out_dtype), DType::f32, sum,
         length);
  }
}

}  // namespace unisono::kernels
