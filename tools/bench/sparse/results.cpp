// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/sparse/results.hpp"

#include "bench/measure.hpp"

namespace unisono::tools {

double SparseBenchRow::median_us() const { return quantile(times_us, 0.5); }
double SparseBenchRow::p10_us() const { return quantile(times_us, 0.1); }
double SparseBenchRow::p90_us() const { return quantile(times_us, 0.9); }

const SparseBenchRow* dense_beside(const SparseBenchResults& results, int input) {
  const SparseBenchRow* found = nullptr;
  for (const SparseBenchRow& row : results.rows) {
    if (row.input != input || !row.dense() || row.times_us.empty()) continue;
    if (row.algorithm == "ring") return &row;
    if (found == nullptr) found = &row;
  }
  return found;
}

}  // namespace unisono::tools
