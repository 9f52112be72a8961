// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The middle of several measurements, and the interval that holds the central 68 % of them. Pure.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace unisono::tools {

struct Spread {
  double median = 0, low = 0, high = 0;
};

// Straight between the two nearest values.
inline double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(at));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

// Of at least one value.
inline Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {quantile(values, 0.5), quantile(values, 0.16), quantile(values, 0.84)};
}

}  // namespace unisono::tools
