// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The vector kernels come first; the scalar reference computes what they leave.
#include "kernels/kernels.hpp"

#include <array>
#include <cstring>

#include "base/check.hpp"
#include "kernels/kernels_reference.hpp"
#include "kernels/kernels_simd.hpp"

namespace unisono::kernels {

namespace {

bool is_integer(DType dtype) { return dtype >= DType::i8 && dtype <= DType::u64; }

void copy_elements(DType dtype, void* out, const void* in, std::size_t count) {
  if (out != in && count != 0) std::memmove(out, in, count * size_of(dtype));
}

}  // namespace

void reduce(DType dtype, ReduceOp op, void* accumulator, const void* other, std::size_t count) {
  const std::array<const void*, 2> inputs{accumulator, other};
  reduce_many(dtype, op, accumulator, inputs, count);
}

void reduce_many(DType dtype, ReduceOp op, void* out, std::span<const void* const> inputs,
                 std::size_t count) {
  UNISONO_CHECK(!inputs.empty());
  if (inputs.size() == 1) return copy_elements(dtype, out, inputs[0], count);
  std::size_t done = 0;
  if (op == ReduceOp::sum || op == ReduceOp::average) {
    done = simd::sum_widening(dtype, out, inputs, count);
  }
  if (done == 0) done = simd::reduce_many(dtype, op, out, inputs, count);
  reference::reduce_many(dtype, op, out, inputs, done, count);
}

void scale(DType dtype, void* out, const void* in, double factor, std::size_t count) {
  if (factor == 1.0) return copy_elements(dtype, out, in, count);
  const std::size_t done = simd::scale(dtype, out, in, factor, count);
  reference::scale(dtype, out, in, factor, done, count);
}

void finish_average(DType dtype, void* data, std::int64_t divisor, std::size_t count) {
  UNISONO_CHECK(divisor > 0);
  if (divisor == 1 || dtype == DType::boolean) return;
  if (is_integer(dtype)) return reference::divide(dtype, data, divisor, count);
  scale(dtype, data, data, 1.0 / static_cast<double>(divisor), count);
}

void fill_neutral(DType dtype, ReduceOp op, void* out, std::size_t count) {
  reference::fill_neutral(dtype, op, out, count);
}

void cast(DType to, void* out, DType from, const void* in, std::size_t count) {
  if (to == from) return copy_elements(to, out, in, count);
  const std::size_t done = simd::cast(to, out, from, in, count);
  reference::cast(to, out, from, in, done, count);
}

}  // namespace unisono::kernels
