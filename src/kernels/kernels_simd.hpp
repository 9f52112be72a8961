// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The vector kernels, dispatched at run time to the best instructions this CPU has. Each returns
// how many leading elements it has computed: whole vectors, or 0 for a combination that it leaves
// to the scalar reference. Thread: any; no state.
#pragma once

#include <cstddef>
#include <span>

#include "unisono/types.hpp"

namespace unisono::kernels::simd {

std::size_t reduce_many(DType dtype, ReduceOp op, void* out, std::span<const void* const> inputs,
                        std::size_t count);
// Sums of 16-bit floats with Arm instructions that Highway does not reach; the same bits as
// reduce_many, 0 elements where the CPU or the compiler lacks them.
std::size_t sum_widening(DType dtype, void* out, std::span<const void* const> inputs,
                         std::size_t count);
std::size_t scale(DType dtype, void* out, const void* in, double factor, std::size_t count);
std::size_t cast(DType to, void* out, DType from, const void* in, std::size_t count);

}  // namespace unisono::kernels::simd
