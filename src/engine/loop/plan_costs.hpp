// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the buckets of one process set take, for whoever plans its iterations. Set by the runner of
// the set, read by its order; both on the same thread. Thread: the engine's driver.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "model/iteration/iteration_graph.hpp"
#include "model/plan.hpp"
#include "run/move_times.hpp"
#include "run/select/selector.hpp"
#include "unisono/options.hpp"

namespace unisono::engine {

class PlanCosts {
 public:
  using CodecKey = std::pair<std::string, DType>;  // and the type of the tensors
  // Encoding counts as what it takes here, which is found out now for the codecs of the options.
  PlanCosts(const Options& options, const Clock& clock);

  void note(const Bucket& bucket, Nanos busy, run::MoveTimes::Sample sample);
  double codec_per_byte(const CodecKey& key) const;

  const Options& options;
  run::MoveTimes times;                     // of what travels as its tensors ask for
  std::map<CodecKey, run::MoveTimes> encoded;  // of what a plan encodes
  const run::Selector* selector = nullptr;  // null: members share memory, or nothing was measured

 private:
  const Clock& clock_;
  mutable std::map<CodecKey, double> per_byte_;
};

// The planner of the options, for whole iterations; null where times must not decide. No bucket of
// it is larger than what the members can share, where they share memory.
std::shared_ptr<const IterationArranger> make_plan_arranger(const Options& options,
                                                            std::shared_ptr<const PlanCosts> costs,
                                                            std::size_t window_max,
                                                            std::uint32_t channels);

}  // namespace unisono::engine
