// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/loop/plan_costs.hpp"

#include <algorithm>

#include "plan/iteration/graph.hpp"

namespace unisono::engine {
namespace {

// Before anything was measured: what shared memory typically takes, at 4 GB/s.
constexpr double kMemoryLatency_s = 1e-5, kMemoryPerByte_s = 0.25e-9;

std::unique_ptr<plan::SizeCost> costs_now(const PlanCosts& costs) {
  const auto model = [&](std::int64_t bytes) {
    const double predicted =
        costs.selector == nullptr ? 0 : costs.selector->predict_s(static_cast<std::size_t>(bytes));
    return predicted > 0 ? predicted
                         : kMemoryLatency_s + kMemoryPerByte_s * static_cast<double>(bytes);
  };
  std::vector<plan::PointsCost::Point> points;
  for (const auto& [bytes, seconds] : costs.times.points(model)) points.push_back({bytes, seconds});
  return std::make_unique<plan::PointsCost>(std::move(points));
}

}  // namespace

std::shared_ptr<const IterationArranger> make_plan_arranger(const Options& options,
                                                            std::shared_ptr<const PlanCosts> costs,
                                                            std::size_t window_max) {
  if (options.deterministic) return nullptr;
  plan::IterationSettings settings;
  settings.fusion_bytes = options.fusion_bytes;
  if (window_max > 0) {
    settings.bucket_bytes_max = static_cast<std::int64_t>(
        std::min(window_max, static_cast<std::size_t>(INT64_MAX)));
  }
  return plan::make_arranger(options.planner, settings,
                             [costs = std::move(costs)] { return costs_now(*costs); });
}

}  // namespace unisono::engine
