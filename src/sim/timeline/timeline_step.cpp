// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/timeline/timeline_step.hpp"

#include <algorithm>
#include <cmath>

#include "base/data/text.hpp"
#include "plan/iteration/graph.hpp"
#include "plan/planner.hpp"
#include "sim/study/metrics.hpp"
#include "sim/timeline/arranger.hpp"
#include "sim/virtual_time.hpp"

namespace unisono::sim {
namespace {

// It needs a choice of methods, of which there is one here.
constexpr std::string_view kOfCodecs = "merged-methods";
// These try pairs of tensors: beyond this they take minutes, or all memory.
struct PairsMax {
  std::string_view planner;
  std::size_t tensors;
};
constexpr PairsMax kPairsMax[] = {{"merged", 100'000}, {"two-phase", 100'000}, {"priority", 20'000}};

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

// What a planner makes of a step.
struct Sent {
  std::vector<double> arrival_s;        // by tensor
  bool each_by_itself = false;          // the next forward pass waits for each tensor alone
  MoveCost cost;                        // of all collectives together
  std::size_t collectives = 0;

  void add(const SimSettings& s, std::int64_t bytes, const PriceOf& price) {
    const MoveCost each = price(s.network, bytes, s.ranks, s.host.ranks_per_host);
    cost.latency_us += each.latency_us;
    cost.bandwidth_us += each.bandwidth_us;
    ++collectives;
  }
};

Sent sent_by(const SimSettings& s, const plan::Arrangement& made) {
  Sent sent;
  sent.arrival_s.assign(s.workload.tensors.size(), made.finish_s);
  sent.each_by_itself = !made.gathers.empty();
  for (const plan::TimedBucket& gather : made.gathers) {
    for (std::size_t i = gather.begin; i < gather.end; ++i) sent.arrival_s[i] = gather.end_s;
  }
  const auto bytes_of = [&](const plan::TimedBucket& bucket) {
    std::int64_t bytes = 0;
    for (std::size_t i = bucket.begin; i < bucket.end; ++i) bytes += s.workload.tensors[i].bytes;
    return bytes;
  };
  const PriceOf whole = made.gathers.empty() ? PriceOf(allreduce_cost) : PriceOf(reducescatter_cost);
  for (const plan::TimedBucket& bucket : made.buckets) sent.add(s, bytes_of(bucket), whole);
  for (const plan::TimedBucket& gather : made.gathers) sent.add(s, bytes_of(gather), allgather_cost);
  return sent;
}

// As the engine sends what is handed over, arranged by its own planner (graph.hpp): with priority
// parts of tensors, small ones joined; and with codecs where they help.
Sent sent_by_arranger(const SimSettings& s, const plan::SizeCost& transfer) {
  IterationGraph graph;
  for (const WorkloadTensor& part : s.workload.tensors) {
    graph.units.push_back({.ready_ns = to_ns(part.ready_us), .bytes = part.bytes,
                           .priority = part.priority, .sums = true,
                           .codecs = s.plan_codecs == "none" ? std::string() : s.plan_codecs});
  }
  graph.edges = IterationEdges(graph.units.size());
  Sent sent;
  sent.arrival_s.resize(graph.units.size());
  sent.each_by_itself = s.planner == "priority";
  double free_s = 0;
  const auto arranger = make_sim_arranger(s, s.ranks);
  const IterationBuckets buckets = arranger->arrange(graph);
  const IterationMethods methods = arranger->methods(graph, buckets);
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    const auto& bucket = buckets[b];
    const std::string& codec = methods[b].method.codec;
    const auto price = [&](const Network& network, std::int64_t of, int ranks, int each) {
      return encoded_cost(network, codec, of, ranks, each);
    };
    std::int64_t bytes = 0, ready_ns = 0;
    for (const std::uint32_t unit : bucket) {
      bytes += graph.units[unit].bytes;
      ready_ns = std::max(ready_ns, graph.units[unit].ready_ns);
    }
    const double seconds =
        codec.empty() ? transfer.seconds(bytes)
                      : 1e-6 * price(s.network, bytes, s.ranks, s.host.ranks_per_host).total_us();
    free_s = std::max(free_s, 1e-9 * static_cast<double>(ready_ns)) + seconds;
    for (const std::uint32_t unit : bucket) sent.arrival_s[unit] = free_s;
    sent.add(s, bytes, price);
  }
  return sent;
}

// How long the next step has to wait, beyond the end of compute.
double waited_us(const Workload& workload, const Sent& sent) {
  double waited = 0;
  for (std::size_t i = 0; i < sent.arrival_s.size(); ++i) {
    const double needed = sent.each_by_itself ? workload.tensors[i].forward_us : 0;
    waited = std::max(waited, 1e6 * sent.arrival_s[i] - workload.compute_us - needed);
  }
  return waited;
}

SimResult summary(const SimSettings& s, const Sent& sent) {
  SimResult result;
  const double compute_ms = s.workload.compute_us * 1e-3;
  result.steps = 1;
  result.exposed_ms = 1e-3 * waited_us(s.workload, sent);
  result.step_ms = result.step_p10_ms = result.step_p90_ms = compute_ms + result.exposed_ms;
  result.efficiency = compute_ms / result.step_ms;
  result.buckets = static_cast<double>(sent.collectives);
  const double all = std::max(sent.cost.total_us(), 1e-9);
  result.latency_ms = result.exposed_ms * sent.cost.latency_us / all;
  result.bandwidth_ms = result.exposed_ms * sent.cost.bandwidth_us / all;
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
  for (const auto& [planner, most] : kPairsMax) {
    if (s.planner != planner || s.workload.tensors.size() <= most) continue;
    return refused(cat("planner ", planner, " tries pairs of tensors, and ",
                       s.workload.tensors.size(), " are too many; at most ", most));
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

bool arranges_iterations(std::string_view planner) {
  const auto known = timeline_planners();
  return std::find(known.begin(), known.end(), planner) != known.end() &&
         find_row(plan::planner_table(), planner) == nullptr;
}

bool only_on_timeline(std::string_view planner) {
  return arranges_iterations(planner) && plan::make_arranger(planner, {}, {}) == nullptr;
}

Result<SimResult> timeline_step(const SimSettings& s) {
  if (Status bad = check_timeline(s); !bad.ok()) return bad;
  const plan::PointsCost transfer = sampled_cost(s, s.ranks, allreduce_cost);
  // What is no allreduce of the engine's has no codec, and groups are planned as they are here.
  const bool encodes = s.plan_codecs != "none" && s.planner != "groups" &&
                       !only_on_timeline(s.planner);
  if (s.planner == "priority" || encodes) {
    SimSettings parts = s;
    parts.workload = as_submitted(s.workload, s.planner);
    if (s.planner.starts_with("merged")) parts.fusion_bytes = INT64_MAX;  // as without codecs
    return summary(parts, sent_by_arranger(parts, transfer));
  }
  const plan::PointsCost scatter = sampled_cost(s, s.ranks, reducescatter_cost);
  const plan::PointsCost gather = sampled_cost(s, s.ranks, allgather_cost);
  const plan::Method methods[] = {{"none", &transfer}};
  const std::vector<plan::IterationTensor> tensors = tensors_of(s);
  plan::IterationSettings settings;
  settings.fusion_bytes = s.fusion_bytes;
  const auto planner = plan::make_iteration_planner(s.planner, settings);
  return summary(s, sent_by(s, planner->arrange({tensors, methods, &scatter, &gather})));
}

}  // namespace unisono::sim
