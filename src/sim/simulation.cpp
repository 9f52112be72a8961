// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/simulation.hpp"

#include <algorithm>
#include <chrono>
#include <span>

#include "base/data/text.hpp"
#include "sim/cores/shared_core_sim.hpp"
#include "sim/run.hpp"

namespace unisono::sim {
namespace {

Status wrong(std::string what) { return Status(Code::invalid_argument, std::move(what)); }

Status check(const SimSettings& s) {
  if (s.ranks < 1 || s.ranks > 1'000'000) return wrong("a simulation has 1 to 1,000,000 ranks");
  if (s.iterations < 1) return wrong("a simulation needs at least one iteration");
  if (s.host.ranks_per_host < 1) return wrong("a host has at least one rank");
  if (s.workload.tensors.empty() || s.workload.compute_us <= 0) {
    return wrong("the workload has no tensors or takes no time");
  }
  if (s.host.shared_cores > 0 && in_one_order(s.order)) {
    return Status(Code::invalid_argument,
                  cat("shared cores are simulated for orders that agree by name, and not for ",
                      s.order, "; choose another order"));
  }
  if (s.host.shared_cores > 0 && (s.pacing != "event" || !s.faults.kills.empty())) {
    return wrong("ranks that share cores are simulated with pacing event and without kills");
  }
  const auto outside = [&](int rank) { return rank < 0 || rank >= s.ranks; };
  for (const Straggler& each : s.faults.stragglers) {
    if (outside(each.rank)) return wrong(cat("there is no rank ", each.rank, " to slow down"));
  }
  for (const Kill& each : s.faults.kills) {
    if (outside(each.rank)) return wrong(cat("there is no rank ", each.rank, " to kill"));
  }
  if (order::find_pacing(s.pacing) == nullptr) return wrong(cat("no pacing \"", s.pacing, "\""));
  if (plan::make_planner(s.planner, {}) == nullptr)
    return wrong(cat("no planner \"", s.planner, "\""));
  if (order::make_order(s.order, Members::of({0}, 0), {}) == nullptr) {
    return wrong(cat("no order \"", s.order, "\""));
  }
  return {};
}

}  // namespace

int steps_of(const SimSettings& s) {
  const auto settle = [&] {
    if (s.warm_up >= 0) return s.warm_up;
    if (s.order == "topo") return 2 * s.tuning.learn_steps + 4;
    if (s.order == "auto") return 3 * s.tuning.learn_steps + 5;
    return 1;                           // fills the caches
  };
  return settle() + s.iterations;
}

bool plans_ahead(std::string_view order) { return order == "topo" || order == "auto"; }

bool in_one_order(std::string_view order) { return order == "program"; }

Result<SimResult> simulate(const SimSettings& settings, const Progress& progress) {
  if (Status bad = check(settings); !bad.ok()) return bad;
  const auto begin = std::chrono::steady_clock::now();
  SimResult result = settings.host.shared_cores > 0 ? SharedCoreSim(settings, progress).play()
                                                    : Run(settings, progress).play();
  result.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

}  // namespace unisono::sim
