// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Arithmetic on spans of elements: the only place that knows how to reduce each dtype.
// Vectorised with run-time dispatch; kernels_reference.hpp is the scalar oracle.
// Any alignment, any count including 0. Thread: any; no state.
// ReduceOp::average reduces like sum; finishing it is finish_average's job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "unisono/types.hpp"

namespace unisono::kernels {

// accumulator[i] = accumulator[i] op other[i]; the accumulator is the left operand.
// 16- and 8-bit floats compute in float32 and round once (to nearest even).
void reduce(DType dtype, ReduceOp op, void* accumulator, const void* other, std::size_t count);

// out[i] = inputs[0][i] op inputs[1][i] op ... in that order, in one pass, accumulating 16- and
// 8-bit floats in float32 with a single final rounding. out may be one of the inputs.
void reduce_many(DType dtype, ReduceOp op, void* out, std::span<const void* const> inputs,
                 std::size_t count);

// Whether what has been reduced of some of the inputs must be kept in float32 so that the whole
// rounds once: sums and products of 16- and 8-bit floats. Minima and the like never round.
bool wants_partials(DType dtype, ReduceOp op);

// Elements of a dtype, or float32 partials of them.
struct Operand {
  const void* at = nullptr;
  bool partial = false;
};
// The same as reduce_many() where some inputs, or the result, are float32 partials: computed in
// float32, and rounded where the result is none. Every block of elements is read before its result
// is written, upwards, so out may be an input of its own width, or end where a shorter one ends.
void reduce_partials(DType dtype, ReduceOp op, void* out, bool out_partial,
                     std::span<const Operand> inputs, std::size_t count);

// out[i] = in[i] * factor; out may equal in. Integers are scaled in double and truncated toward
// zero, 16- and 8-bit floats in float32. factor 1 is a plain copy.
void scale(DType dtype, void* out, const void* in, double factor, std::size_t count);

// data[i] /= divisor: floats multiply by 1/divisor as scale() does, integers truncate toward zero
// exactly. Booleans are left alone.
void finish_average(DType dtype, void* data, std::int64_t divisor, std::size_t count);

// out[i] = in[i] / divisor * postscale, as an allreduce ends; out may equal in. Floats round once.
void finish(DType dtype, std::int64_t divisor, double postscale, void* out, const void* in,
            std::size_t count);

// Fills with the neutral element: 0 for sum, 1 for product, the largest for min, ...
void fill_neutral(DType dtype, ReduceOp op, void* out, std::size_t count);

// Converts between any two dtypes (floats round to nearest even; float to integer truncates and
// saturates).
void cast(DType to, void* out, DType from, const void* in, std::size_t count);

}  // namespace unisono::kernels
