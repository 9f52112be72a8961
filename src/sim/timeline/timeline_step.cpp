// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/timeline/timeline_step.hpp"

#include <algorithm>
#include <cmath>

#include "base/data/text.hpp"
#include "plan/iteration/iteration.hpp"
#include "plan/planner.hpp"
#include "sim/network/collective_cost.hpp"
#include "sim/study/metrics.hpp"

namespace unisono::sim {
namespace {

// It needs a choice of methods, of which there is one here.
constexpr std::string_view kOfCodecs = "merged-methods";
// The exact planners try pairs of tensors: beyond this they take minutes.
constexpr std::size_t kPairsMax = 100'000;

using PriceOf = MoveCost (*)(const Network&, std::int64_t, int, int);

// A cost that is asked for many times, as points between which it is straight: eight to a doubling.
plan::PointsCost sampled(const SimSettings& s, PriceOf price) {
  std::vector<plan::PointsCost::Point> points;
  const auto most = static_cast<double>(s.workload.bytes());
  for (double at = 1; ; at = std::min(at * 1.0905077326652577, most)) {  // 2^(1/8)
    const auto bytes = static_cast<std::int64_t>(at);
    if (points.empty() || bytes > points.back().bytes) {
      const MoveCost cost = price(s.network, bytes, s.ranks, s.host.ranks_per_host);
      points.push_back({bytes, 1e-6 * cost.total_us()});
    }
    if (at >= most) break;
  }
  return plan::PointsCost(std::move(points));
}

// Tensors as planners read them: how long the forward pass computes between a tensor and the next
// one that it needs. They take the forward pass to be the backward order reversed; where a trace
// says otherwise, a tensor counts as needed when the first of those behind it is.
std::vector<plan::IterationTensor> tensors_of(const SimSettings& s) {
  const Workload& workload = s.workload;
  const std::size_t count = workload.tensors.size();
  const auto groups = std::min(static_cast<std::size_t>(std::max(s.groups, 0)), count);
  std::vector<plan::IterationTensor> tensors(count);
  double next_us = workload.forward_us;
  for (std::size_t i = 0; i < count; ++i) {  // the last layer first
    const WorkloadTensor& from = workload.tensors[i];
    const double needed_us = std::min(from.forward_us, next_us);
    tensors[i] = {1e-6 * from.ready_us, from.bytes, 1e-6 * (next_us - needed_us),
                  groups == 0 ? -1 : static_cast<int>(i * groups / count)};
    next_us = needed_us;
  }
  return tensors;
}

// When each tensor may be used.
std::vector<double> arrivals(const plan::Arrangement& made, std::size_t count) {
  std::vector<double> at(count, made.finish_s);
  if (!made.parts.empty()) {
    for (const plan::TimedBucket& whole : made.buckets) at[whole.begin] = whole.end_s;
  }
  for (const plan::TimedBucket& gather : made.gathers) {
    std::fill(at.begin() + static_cast<std::ptrdiff_t>(gather.begin),
              at.begin() + static_cast<std::ptrdiff_t>(gather.end), gather.end_s);
  }
  return at;
}

// How long the next step has to wait, beyond the end of compute.
double waited_us(const Workload& workload, const plan::Arrangement& made) {
  const bool piecewise = !made.parts.empty() || !made.gathers.empty();
  const std::vector<double> arrival = arrivals(made, workload.tensors.size());
  double waited = 0;
  for (std::size_t i = 0; i < arrival.size(); ++i) {
    const double needed = piecewise ? workload.tensors[i].forward_us : 0;
    waited = std::max(waited, 1e6 * arrival[i] - workload.compute_us - needed);
  }
  return waited;
}

// What all collectives of the step cost together, divided as the network's model divides them.
MoveCost cost_of(const SimSettings& s, const plan::Arrangement& made) {
  MoveCost sum;
  const auto add = [&](std::int64_t bytes, PriceOf price) {
    const MoveCost each = price(s.network, bytes, s.ranks, s.host.ranks_per_host);
    sum.latency_us += each.latency_us;
    sum.bandwidth_us += each.bandwidth_us;
  };
  const auto bytes_of = [&](const plan::TimedBucket& bucket) {
    std::int64_t bytes = 0;
    for (std::size_t i = bucket.begin; i < bucket.end; ++i) bytes += s.workload.tensors[i].bytes;
    return bytes;
  };
  for (const plan::TimedPart& part : made.parts) add(part.bytes, allreduce_cost);
  if (!made.parts.empty()) return sum;
  const PriceOf whole = made.gathers.empty() ? allreduce_cost : reducescatter_cost;
  for (const plan::TimedBucket& bucket : made.buckets) add(bytes_of(bucket), whole);
  for (const plan::TimedBucket& gather : made.gathers) add(bytes_of(gather), allgather_cost);
  return sum;
}

SimResult summary(const SimSettings& s, const plan::Arrangement& made) {
  SimResult result;
  const double compute_ms = s.workload.compute_us * 1e-3;
  result.steps = 1;
  result.exposed_ms = 1e-3 * waited_us(s.workload, made);
  result.step_ms = result.step_p10_ms = result.step_p90_ms = compute_ms + result.exposed_ms;
  result.efficiency = compute_ms / result.step_ms;
  result.buckets = static_cast<double>(
      made.parts.empty() ? made.buckets.size() + made.gathers.size() : made.parts.size());
  const MoveCost cost = cost_of(s, made);
  const double all = std::max(cost.total_us(), 1e-9);
  result.latency_ms = result.exposed_ms * cost.latency_us / all;
  result.bandwidth_ms = result.exposed_ms * cost.bandwidth_us / all;
  result.limited_by = limit_of(result);
  return result;
}

Status refused(std::string what) { return Status(Code::invalid_argument, std::move(what)); }

Status check_timeline(const SimSettings& s) {
  if (s.ranks < 1 || s.ranks > 1'000'000) return refused("a simulation has 1 to 1,000,000 ranks");
  if (s.host.ranks_per_host < 1) return refused("a host has at least one rank");
  if (s.workload.tensors.empty() || s.workload.compute_us <= 0) {
    return refused("the workload has no tensors or takes no time");
  }
  const auto known = timeline_planners();
  if (std::find(known.begin(), known.end(), s.planner) == known.end()) {
    return refused(cat("no planner \"", s.planner, "\" on a timeline; one of ", join_text(known)));
  }
  const bool pairs = s.planner == "merged" || s.planner == "two-phase";
  if (pairs && s.workload.tensors.size() > kPairsMax) {
    return refused(cat("planner ", s.planner, " tries pairs of tensors, and ",
                     s.workload.tensors.size(), " are too many; at most ", kPairsMax));
  }
  return {};
}

}  // namespace

std::vector<std::string_view> timeline_planners() {
  std::vector<std::string_view> names;
  for (const plan::IterationRow& row : plan::iteration_table()) {
    if (row.name != kOfCodecs) names.push_back(row.name);
  }
  return names;
}

bool only_on_timeline(std::string_view planner) {
  const auto known = timeline_planners();
  return std::find(known.begin(), known.end(), planner) != known.end() &&
         find_row(plan::planner_table(), planner) == nullptr;
}

Result<SimResult> timeline_step(const SimSettings& s) {
  if (Status bad = check_timeline(s); !bad.ok()) return bad;
  const plan::PointsCost transfer = sampled(s, allreduce_cost);
  const plan::PointsCost scatter = sampled(s, reducescatter_cost);
  const plan::PointsCost gather = sampled(s, allgather_cost);
  const plan::Method methods[] = {{"none", &transfer}};
  const std::vector<plan::IterationTensor> tensors = tensors_of(s);
  plan::IterationSettings settings;
  settings.fusion_bytes = s.fusion_bytes;
  const auto planner = plan::make_iteration_planner(s.planner, settings);
  return summary(s, planner->arrange({tensors, methods, &scatter, &gather}));
}

}  // namespace unisono::sim
