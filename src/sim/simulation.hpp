// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Training steps of many ranks under virtual time. Every rank has the real Order with the real
// pacing; compute, threads, wires and the data plane are models (docs/SIMULATOR.md).
// The same settings give the same run, event for event. Thread: one; owns everything it makes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "order/order.hpp"
#include "sim/workload/faults.hpp"
#include "sim/network/host.hpp"
#include "sim/network/network.hpp"
#include "sim/workload/workload.hpp"
#include "unisono/status.hpp"

namespace unisono::sim {

struct SimSettings {
  Workload workload;
  Network network;
  HostModel host;
  Faults faults;
  int ranks = 2;
  // Each simulated rank stands for so many: what is rare happens to it as much more often, so that
  // as much of it happens in the job, and buckets cost what they cost among all. The work of a
  // coordinator does not grow with it, nor does the depth of a tree.
  double stands_for = 1;
  int iterations = 10;                  // measured
  int warm_up = -1;                     // steps before them; -1: what the strategy needs to settle
  std::uint64_t seed = 1;
  std::string order = "cache";
  std::string pacing = "event";
  std::string planner = "threshold";    // of rounds, and of the plans that topo and auto make
  std::int64_t fusion_bytes = 64 << 20;
  std::string plan_codecs = "none";     // that plans may choose for their buckets: "fp16,bf16"
  int groups = 0;                       // tensors submitted as this many groups; 0 = ungrouped
  bool shuffle = true;                  // ranks submit neighbouring tensors in different orders
  bool keep_rounds = false;             // SimResult::rounds
  order::OrderSettings tuning;          // radix, cache, cycle, gs_cycles, learning; pacing is above
};

struct RoundSample {
  int rank;
  double at_ms, waited_ms;              // begin of the round, and how long it took there
};

struct SimResult {
  Status failure;                       // not ok: the job ended early, and why
  int steps = 0;                        // measured
  double step_ms = 0, step_p10_ms = 0, step_p90_ms = 0;
  double exposed_ms = 0;                // step beyond the nominal compute
  double efficiency = 0;                // nominal compute / step
  double straggler_ms = 0;              // parts of exposed_ms
  double control_ms = 0;
  double negotiation_ms = 0;            // from a step's first submission to its last response
  double latency_ms = 0, bandwidth_ms = 0;
  std::string limited_by;               // compute, straggler, control, latency or bandwidth
  double background_share = 0;          // of a step: tensors were ready, none given out; mean
  double spin_share = 0;                // of a step: the engine's thread spun, mean over ranks
  double control_messages = 0;          // per step, all ranks
  double control_bytes = 0;
  double buckets = 0;                   // per step
  std::uint64_t events = 0;
  std::uint64_t digest = 0;             // of every event: equal for equal runs
  double virtual_ms = 0, wall_s = 0;
  std::vector<RoundSample> rounds;
};

// Whether an order of that name plans whole iterations, which the planner then arranges.
bool plans_ahead(std::string_view order);
// Whether ranks under the order promise to submit alike; then only the seed changes how they do.
bool in_one_order(std::string_view order);

// How many steps are played: those that the order needs to settle, and those that are measured.
int steps_of(const SimSettings& settings);

// done: 0 to 1.
using Progress = std::function<void(double done)>;

// Returns an error for impossible settings; a job that fails on the way is a SimResult.
Result<SimResult> simulate(const SimSettings& settings, const Progress& progress = {});

}  // namespace unisono::sim
