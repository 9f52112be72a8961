// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The scalar oracle: what every kernel must compute, one element at a time, for all dtypes and
// operators. Also computes the tails and the rare combinations that the vector kernels leave out.
// Thread: any; no state.
//
// The rules the vector kernels share:
// - min and max of floats: if either side is NaN the result is the positive quiet NaN without
//   payload; -0 is less than +0. So the result never depends on the order of the operands.
// - sum and product of floats give NaN when IEEE does; which payload is left to the hardware.
// - integer sums and products wrap around.
// - logical_and and logical_or on numbers treat anything but zero as true (NaN too) and give 1
//   or 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "unisono/types.hpp"

namespace unisono::kernels::reference {

// As in kernels.hpp, over elements [first, count).
void reduce_many(DType dtype, ReduceOp op, void* out, std::span<const void* const> inputs,
                 std::size_t first, std::size_t count);
void scale(DType dtype, void* out, const void* in, double factor, std::size_t first,
           std::size_t count);
void cast(DType to, void* out, DType from, const void* in, std::size_t first, std::size_t count);

void divide(DType dtype, void* data, std::int64_t divisor, std::size_t count);  // integers only
void fill_neutral(DType dtype, ReduceOp op, void* out, std::size_t count);

}  // namespace unisono::kernels::reference
