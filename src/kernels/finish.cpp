// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernels.hpp"

namespace unisono::kernels {

void finish(DType dtype, std::int64_t divisor, double postscale, void* out, const void* in,
            std::size_t count) {
  const bool is_float = dtype <= DType::f8e5m2;
  if (divisor > 1 && is_float) postscale /= static_cast<double>(divisor);
  scale(dtype, out, in, divisor > 1 && !is_float ? 1.0 : postscale, count);
  if (divisor <= 1 || is_float) return;
  // Integers divide exactly before they are scaled.
  finish_average(dtype, out, divisor, count);
  if (postscale != 1.0) scale(dtype, out, out, postscale, count);
}

}  // namespace unisono::kernels
