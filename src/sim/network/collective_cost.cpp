// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/network/collective_cost.hpp"

#include <algorithm>
#include <span>

#include "cost/algorithms.hpp"

namespace unisono::sim {
namespace {

using Predict = double (*)(std::string_view, const cost::Layout&, std::size_t, const cost::Costs&);

constexpr std::string_view kAllreduces[] = {"ring",  "recursive_doubling", "direct",
                                            "rings", "halving_doubling",   "tree",
                                            "double_tree", "hierarchical"};
constexpr std::string_view kReducescatters[] = {"direct", "halving", "ring", "hierarchical"};
constexpr std::string_view kAllgathers[] = {"direct", "ring", "hierarchical"};
// As in move/: more members than these are not sent to one by one.
constexpr int kDirectMembersMax = 8;

cost::LinkCost straight(double latency_us, double gb_per_s) {
  cost::LinkCost link;
  for (std::size_t i = 0; i < link.points.size(); ++i) {
    const auto bytes = static_cast<double>(cost::kPointBytes[i]);
    link.points[i] = 1e-6 * latency_us + 1e-9 * bytes / gb_per_s;
  }
  return link;
}

bool may_run(std::string_view algorithm, const cost::Layout& layout) {
  if (algorithm == "direct") return layout.n <= kDirectMembersMax;
  return algorithm != "hierarchical" || layout.each > 1;
}

MoveCost best_of(std::span<const std::string_view> names, Predict predict, const Network& network,
                 std::int64_t bytes, const cost::Layout& layout) {
  const cost::Costs costs = link_costs(network);
  MoveCost best;
  double least = 0;
  for (const std::string_view name : names) {
    if (!may_run(name, layout)) continue;
    const double all = 1e6 * predict(name, layout, static_cast<std::size_t>(bytes), costs);
    if (!best.algorithm.empty() && all >= least) continue;
    least = all;
    best.algorithm = name;
  }
  // Of the algorithm that is best for these bytes, not of the one that is best for none.
  best.latency_us = std::min(1e6 * predict(best.algorithm, layout, 0, costs), least);
  best.bandwidth_us = least - best.latency_us;
  best.latency_us += network.launch_us;
  return best;
}

// Through the memory that all ranks of a host map: each byte passes (r-1)/r times either way.
MoveCost within_host(const Network& network, std::int64_t bytes, int ranks, int ways) {
  MoveCost cost{network.launch_us, 0, ranks > 1 ? "memory" : ""};
  cost.latency_us += ways * (ranks - 1) * network.local_hop_us;
  cost.bandwidth_us = ways * (ranks - 1.0) / ranks * static_cast<double>(bytes) /
                      (network.local_gb_per_s * 1e3);
  return cost;
}

MoveCost collective(std::span<const std::string_view> names, Predict predict,
                    const Network& network, std::int64_t bytes, int ranks, int ranks_per_host,
                    int ways) {
  const cost::Layout layout = host_layout(ranks, ranks_per_host);
  MoveCost cost = layout.hosts == 1 ? within_host(network, bytes, layout.n, ways)
                                    : best_of(names, predict, network, bytes, layout);
  if (layout.n > 1) {
    cost.bandwidth_us += 1e-3 * network.emulated_ns_per_byte * static_cast<double>(bytes);
  }
  return cost;
}

}  // namespace

cost::Costs link_costs(const Network& network) {
  cost::Costs costs;
  const auto place = [&](cost::LinkClass link, cost::LinkCost cost) {
    costs.links[static_cast<std::size_t>(link)] = cost;
  };
  const cost::LinkCost memory = straight(network.local_hop_us, network.local_gb_per_s);
  place(cost::LinkClass::memory, memory);
  place(cost::LinkClass::loopback, memory);
  place(cost::LinkClass::wire, straight(network.hop_us, network.gb_per_s * network.attained));
  costs.reduce_per_byte = network.reduce_ns_per_byte >= 0 ? 1e-9 * network.reduce_ns_per_byte
                                                          : 1e-9 / network.local_gb_per_s;
  return costs;
}

cost::Layout host_layout(int ranks, int ranks_per_host) {
  cost::Layout layout;
  layout.n = std::max(ranks, 1);
  layout.each = std::clamp(ranks_per_host, 1, layout.n);
  layout.hosts = (layout.n + layout.each - 1) / layout.each;
  // That the last host may have fewer is left out: the forms take the host with the fewest to slow
  // all others down, which the rest of a division by six would do to thousands of ranks.
  layout.least = layout.each;
  const auto n = static_cast<std::int64_t>(layout.n);
  layout.apart = n * (n - layout.each);
  return layout;
}

MoveCost allreduce_cost(const Network& network, std::int64_t bytes, int ranks,
                        int ranks_per_host) {
  return collective(kAllreduces, cost::predict_allreduce, network, bytes, ranks, ranks_per_host, 2);
}

MoveCost reducescatter_cost(const Network& network, std::int64_t bytes, int ranks,
                            int ranks_per_host) {
  return collective(kReducescatters, cost::predict_reducescatter, network, bytes, ranks,
                    ranks_per_host, 1);
}

MoveCost allgather_cost(const Network& network, std::int64_t bytes, int ranks,
                        int ranks_per_host) {
  return collective(kAllgathers, cost::predict_allgather, network, bytes, ranks, ranks_per_host, 1);
}

}  // namespace unisono::sim
