// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/step/results.hpp"

#include "bench/measure.hpp"

namespace unisono::tools {

double StepRow::median_ms() const { return quantile(steps_ms, 0.5); }
double StepRow::p10_ms() const { return quantile(steps_ms, 0.1); }
double StepRow::p90_ms() const { return quantile(steps_ms, 0.9); }

const StepRow* measured_row(const StepResults& results, const std::string& planner) {
  for (const StepRow& row : results.rows) {
    if (row.planner == planner && !row.steps_ms.empty()) return &row;
  }
  return nullptr;
}

const StepRow* best_row(const StepResults& results) {
  const StepRow* best = nullptr;
  for (const StepRow& row : results.rows) {
    if (row.steps_ms.empty()) continue;
    if (best == nullptr || row.median_ms() < best->median_ms()) best = &row;
  }
  return best;
}

}  // namespace unisono::tools
