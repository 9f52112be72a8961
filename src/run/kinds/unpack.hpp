// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Takes reduced tensors out of a bucket's buffer into the callers' outputs, finishing averages and
// post-scaling on the way. Called only when the whole bucket has arrived, so an output is written
// completely or not at all. Thread: the one that drives the engine.
#pragma once

#include <cstddef>
#include <cstdint>

#include "unisono/types.hpp"

namespace unisono::run {

struct Finish {
  ReduceOp op = ReduceOp::sum;
  std::int64_t divisor = 1;                 // average: how many contributions count
  double postscale = 1.0;
};

// data is count elements in the bucket's buffer; out may be the same place or anywhere else.
void unpack(DType dtype, const Finish& finish, const void* data, void* out, std::size_t count);

}  // namespace unisono::run
