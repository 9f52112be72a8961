// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What `unisono bench step` has measured, as values, and as JSON on the way from rank 0 to the
// process that started it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace unisono::tools {

// How a bucket of the plan that was followed last travelled, and why.
struct StepBucket {
  std::string first;
  double tensors = 0, bytes = 0, channel = 0;
  std::string codec, algorithm, reason;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StepBucket, first, tensors, bytes, channel, codec, algorithm,
                                   reason)

// One planner, as rank 0 saw it. Per step where nothing else is said.
struct StepRow {
  std::string planner;
  std::string refused;                       // why it was not measured; empty when it was
  std::vector<double> steps_ms;
  std::vector<double> late_ms;               // of the last gradient, behind the profile
  double buckets = 0;
  double data_bytes = 0, control_messages = 0;  // sent by rank 0
  double planned = 0;                        // share of steps after which rank 0 followed a plan
  std::string strategy, reason;              // of the order, and why steps are planned or not
  double plans = 0;                          // begun, warm-up included
  int warmup = 0;                            // steps in all
  bool settled = false;                      // the last of them left a plan behind
  std::vector<StepBucket> methods;           // of the known plan that has run most

  double median_ms() const;
  double p10_ms() const;
  double p90_ms() const;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StepRow, planner, refused, steps_ms, late_ms, buckets, data_bytes,
                                   control_messages, planned, strategy, reason, plans, warmup, settled,
                                   methods)

// What a message between two ranks takes, as the engines measured it while they joined.
struct StepLink {
  std::string link;
  double latency_us = 0, us_per_mib = 0;
  bool measured = false;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StepLink, link, latency_us, us_per_mib, measured)

struct StepResults {
  int ranks = 0, hosts = 1;
  std::string order, transport, integrity, emulate, plan_codecs;  // as the engines have them
  std::vector<StepLink> links;               // none where ranks only share memory
  double reduce_us_per_mib = 0;
  std::vector<StepRow> rows;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StepResults, ranks, hosts, order, transport, integrity, emulate,
                                   plan_codecs, links, reduce_us_per_mib, rows)

// The row of a planner that was measured; null when there is none.
const StepRow* measured_row(const StepResults& results, const std::string& planner);
const StepRow* best_row(const StepResults& results);

}  // namespace unisono::tools
