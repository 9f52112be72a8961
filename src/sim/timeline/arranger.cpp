// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/timeline/arranger.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/data/text.hpp"
#include "model/options/option_values.hpp"
#include "plan/iteration/graph.hpp"

namespace unisono::sim {

plan::PointsCost sampled_cost(const SimSettings& s, int ranks, const PriceOf& price) {
  std::vector<plan::PointsCost::Point> points;
  const auto most = static_cast<double>(s.workload.bytes());
  for (double at = 1; ; at = std::min(at * 1.0905077326652577, most)) {  // 2^(1/8)
    const auto bytes = static_cast<std::int64_t>(at);
    if (points.empty() || bytes > points.back().bytes) {
      const MoveCost cost = price(s.network, bytes, ranks, s.host.ranks_per_host);
      points.push_back({bytes, 1e-6 * cost.total_us()});
    }
    if (at >= most) break;
  }
  return plan::PointsCost(std::move(points));
}

std::shared_ptr<const IterationArranger> make_sim_arranger(const SimSettings& settings,
                                                           int ranks) {
  plan::IterationSettings limits;
  limits.fusion_bytes = settings.fusion_bytes;
  std::map<std::string, plan::PointsCost, std::less<>> costs;
  costs.emplace("", sampled_cost(settings, ranks, allreduce_cost));
  for (const std::string_view codec : split_list(settings.plan_codecs)) {
    if (codec == "none") continue;
    costs.emplace(codec, sampled_cost(settings, ranks,
                                      [codec](const Network& network, std::int64_t bytes, int among,
                                              int ranks_per_host) {
                                        return encoded_cost(network, codec, bytes, among,
                                                            ranks_per_host);
                                      }));
  }
  return plan::make_arranger(
      settings.planner, limits,
      [costs = std::move(costs)](std::string_view codec, DType) {
        plan::MethodCost made;
        const auto known = costs.find(codec);
        if (known != costs.end()) {
          made.transfer = std::make_unique<plan::PointsCost>(known->second);
        }
        return made;
      });
}

Workload as_submitted(const Workload& workload, std::string_view planner) {
  if (planner != "priority") return workload;
  const auto part_bytes = plan::IterationSettings{}.partition_bytes;
  // Those that forward needs first are made last, where nothing else is known.
  std::vector<std::size_t> use(workload.tensors.size());
  std::iota(use.rbegin(), use.rend(), std::size_t{0});
  std::stable_sort(use.begin(), use.end(), [&](std::size_t a, std::size_t b) {
    return workload.tensors[a].forward_us < workload.tensors[b].forward_us;
  });
  std::vector<std::int32_t> priority(use.size());
  for (std::size_t i = 0; i < use.size(); ++i) {
    priority[use[i]] = static_cast<std::int32_t>(use.size() - i);
  }
  Workload made = workload;
  made.tensors.clear();
  for (std::size_t i = 0; i < workload.tensors.size(); ++i) {
    WorkloadTensor part = workload.tensors[i];
    part.priority = priority[i];
    const std::int64_t bytes = part.bytes;
    for (std::int64_t at = 0, number = 0; at < bytes; at += part_bytes, ++number) {
      part.bytes = std::min(part_bytes, bytes - at);
      if (bytes > part_bytes) part.name = cat(workload.tensors[i].name, "/part.", number);
      made.tensors.push_back(part);
    }
  }
  return made;
}

}  // namespace unisono::sim
