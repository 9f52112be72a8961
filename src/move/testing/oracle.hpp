// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Test support: what members contribute, and what a reduction of it must come to.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "base/data/rng.hpp"
#include "kernels/kernels.hpp"
#include "kernels/kernels_reference.hpp"
#include "unisono/types.hpp"

namespace unisono::move {

using Buffer = std::vector<std::byte>;

// Values whose sums and products stay moderate in every dtype.
inline Buffer random_values(DType dtype, std::size_t count, Rng& rng) {
  std::vector<double> values(count);
  for (auto& value : values) {
    value = dtype >= DType::i8 ? static_cast<double>(rng.below(100))
                               : 0.5 + static_cast<double>(rng.below(1024)) / 1024;
  }
  if (dtype == DType::boolean) for (auto& value : values) value = value > 20;
  Buffer out(count * size_of(dtype));
  kernels::cast(dtype, out.data(), DType::f64, values.data(), count);
  return out;
}

inline std::vector<Buffer> random_parts(std::size_t n, DType dtype, std::size_t count, Rng& rng) {
  std::vector<Buffer> parts;
  for (std::size_t i = 0; i < n; ++i) parts.push_back(random_values(dtype, count, rng));
  return parts;
}

inline Buffer reduced_in_member_order(DType dtype, ReduceOp op, const std::vector<Buffer>& parts) {
  if (parts.size() == 1) return parts[0];
  std::vector<const void*> inputs;
  for (const auto& part : parts) inputs.push_back(part.data());
  Buffer out(parts[0].size());
  kernels::reference::reduce_many(dtype, op, out.data(), inputs, 0, out.size() / size_of(dtype));
  return out;
}

inline std::vector<double> as_doubles(DType dtype, const Buffer& buffer) {
  std::vector<double> out(buffer.size() / size_of(dtype));
  kernels::cast(DType::f64, out.data(), dtype, buffer.data(), out.size());
  return out;
}

inline bool order_matters(DType dtype, ReduceOp op) {
  return dtype <= DType::f8e5m2 &&
         (op == ReduceOp::sum || op == ReduceOp::average || op == ReduceOp::product);
}

// Whatever the order, only float32 and the last rounding may differ from what f64 comes to: the
// result lies between what its neighbours would be rounded to.
inline void expect_rounded_once(DType dtype, ReduceOp op, const std::vector<Buffer>& parts,
                                const Buffer& result) {
  std::vector<Buffer> wide;
  for (const auto& part : parts) {
    const auto values = as_doubles(dtype, part);
    Buffer bytes(values.size() * sizeof(double));
    if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    wide.push_back(bytes);
  }
  const auto exact = as_doubles(DType::f64, reduced_in_member_order(DType::f64, op, wide));
  const auto actual = as_doubles(dtype, result);
  const double step = dtype == DType::f64 ? 0x1.0p-52 : 0x1.0p-23;
  const double relative = step * static_cast<double>(parts.size());
  const auto rounded = [&](double factor) {
    std::vector<double> values = exact;
    for (double& value : values) value += factor * std::abs(value);
    Buffer out(values.size() * size_of(dtype));
    kernels::cast(dtype, out.data(), DType::f64, values.data(), values.size());
    return as_doubles(dtype, out);
  };
  const auto least = rounded(-relative), most = rounded(relative);
  ASSERT_EQ(actual.size(), exact.size());
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (least[i] <= actual[i] && actual[i] <= most[i]) continue;
    FAIL() << name_of(dtype) << " " << name_of(op) << " element " << i << ": " << actual[i]
           << " is not " << exact[i] << " rounded once";
  }
}

}  // namespace unisono::move
