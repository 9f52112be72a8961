// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/kinds/unpack.hpp"

#include "kernels/kernels.hpp"

namespace unisono::run {

void unpack(DType dtype, const Finish& finish, const void* data, void* out, std::size_t count) {
  const std::int64_t divisor = finish.op == ReduceOp::average ? finish.divisor : 1;
  kernels::finish(dtype, divisor, finish.postscale, out, data, count);
}

}  // namespace unisono::run
