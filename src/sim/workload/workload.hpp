// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What a rank computes and hands over in one step: tensors, and when each is ready. Values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unisono/status.hpp"

namespace unisono::sim {

struct WorkloadTensor {
  std::string name;
  std::int64_t bytes = 0;
  double ready_us = 0;                  // since the step began; ascending
};

struct Workload {
  std::string name;
  std::vector<WorkloadTensor> tensors;  // in the order in which backward makes them
  double compute_us = 0;                // forward and backward

  std::int64_t bytes() const;
};

struct ModelRow {
  std::string_view name;
  std::string_view about;
};
std::span<const ModelRow> model_table();
// Makes the workload of a model in the table. compute_ms 0 means the table's own value.
Result<Workload> make_workload(std::string_view model, double compute_ms = 0);
// Makes every tensor ready at the end of compute, as a framework does that compiles a whole step.
void hand_over_at_end(Workload& workload);
// Sorts by readiness and fills in compute_us when it is 0; returns an error for impossible values.
Status finish_workload(Workload& workload);

}  // namespace unisono::sim
