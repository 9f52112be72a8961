// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Adasum by its definition, vector by vector, in double precision.
#pragma once

#include <bit>
#include <numeric>
#include <span>
#include <vector>

namespace unisono::move {

inline std::vector<double> adasum_oracle(std::span<const std::vector<double>> given) {
  using Vector = std::vector<double>;
  const auto dot = [](const Vector& x, const Vector& y) {
    return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
  };
  if (given.size() == 1) return given.front();
  const std::size_t half = std::bit_floor(given.size() - 1);
  const Vector a = adasum_oracle(given.first(half)), b = adasum_oracle(given.subspan(half));
  const double ab = dot(a, b), aa = dot(a, a), bb = dot(b, b);
  const double fa = aa == 0 ? 1 : 1 - ab / (2 * aa), fb = bb == 0 ? 1 : 1 - ab / (2 * bb);
  Vector out(a.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = fa * a[i] + fb * b[i];
  return out;
}

}  // namespace unisono::move
