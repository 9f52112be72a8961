// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What a rank computes and hands over in one step: tensors, when forward needs each of them, and
// when backward has its gradient ready. Values.
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
  // Since the step began: when the forward pass comes to its layer, so that the next step can begin
  // before the tensor has arrived. 0 where nothing is known, which means needed at once.
  double forward_us = 0;
  std::int32_t priority = 0;            // larger is more urgent
};

struct Workload {
  std::string name;
  std::vector<WorkloadTensor> tensors;  // in the order in which backward makes them
  double compute_us = 0;                // forward and backward
  double forward_us = 0;                // of compute_us, the forward pass; 0 where it is not known
  double batch = 0;                     // samples that a rank computes; 0 where it is not known

  std::int64_t bytes() const;
};

// How long a step of a model takes on a device.
struct StepTime {
  std::string_view device;
  std::string_view batch;               // and precision
  double ms;                            // forward and backward
  double forward_share;
  std::string_view source;
};

// A model that comes with the simulator (docs/SIMULATOR.md has the table).
struct ModelRow {
  std::string_view name;
  std::string_view about;               // what is in it and what is assumed
  std::span<const StepTime> times;      // the first one unless a device is named
  std::int64_t parameters = 0;
  std::size_t tensors = 0, layers = 0;

  std::int64_t bytes() const { return 4 * parameters; }  // gradients in fp32
};
std::span<const ModelRow> model_table();

// What is handed over: each tensor, or the tensors of a layer (weight and bias) as one.
enum class Granularity { tensors, layers };

struct ModelChoice {
  double compute_ms = 0;                // 0: the device's
  std::string_view device = {};         // empty: the model's first
  Granularity granularity = Granularity::tensors;
};
// Makes the workload of a model in the table. Forward and backward time is divided among layers by
// their multiply-adds; a gradient is ready when its layer's backward ends.
Result<Workload> make_workload(std::string_view model, const ModelChoice& choice);
Result<Workload> make_workload(std::string_view model, double compute_ms = 0);

// Makes every tensor ready at the end of compute, as a framework does that compiles a whole step.
void hand_over_at_end(Workload& workload);
// What the same step takes with another number of samples. A share of it does not depend on them:
// kernels are launched, weights are read and updated, input is fetched, however few there are.
// Needs a known batch.
inline constexpr double kFixedShare = 0.1;
Workload with_batch(Workload workload, double samples, double fixed_share = kFixedShare);
// Sorts by readiness and fills in compute_us when it is 0; returns an error for impossible values.
Status finish_workload(Workload& workload);

}  // namespace unisono::sim
