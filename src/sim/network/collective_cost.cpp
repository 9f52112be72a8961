// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/network/collective_cost.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>

#include "cost/algorithms.hpp"
#include "encode/codec.hpp"

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

// How much of the network an algorithm uses, beside what the forms of cost/ know: those have one
// adapter to a host, and hosts that are all equally near.
struct Use {
  std::string_view algorithm;
  int flows;                            // that leave a host at once; 0: one for each of its ranks
  int crossing;                         // that leave a switch at once; 0: not a few, see below
};
// A ring enters and leaves a host once, and a tree's busiest member has three neighbours. The others
// pair every rank with ranks elsewhere.
constexpr Use kUses[] = {{"ring", 1, 1}, {"rings", 4, 4}, {"tree", 1, 3}, {"double_tree", 2, 4}};

Use use_of(std::string_view algorithm) {
  const auto* found = std::find_if(std::begin(kUses), std::end(kUses),
                                   [&](const Use& use) { return use.algorithm == algorithm; });
  return found == std::end(kUses) ? Use{algorithm, 0, 0} : *found;
}

// Of the bytes that leave hosts, the share that also leaves their switch.
double crossing_share(std::string_view algorithm, const cost::Layout& layout, int hosts_per_switch) {
  const double hosts = layout.hosts, near = hosts_per_switch;
  if (algorithm == "recursive_doubling") {
    return std::log2(hosts / near) / std::max(std::log2(hosts), 1.0);
  }
  // Blocks halve as partners are farther apart, so that little goes far.
  if (algorithm == "halving_doubling" || algorithm == "halving") {
    return (1 / near - 1 / hosts) / (1 - 1 / hosts);
  }
  return (hosts - near) / (hosts - 1);
}

// How many times longer bytes take than adapters alone would let them.
double congestion(const Network& network, std::string_view algorithm, const cost::Layout& layout) {
  if (!is_two_level(network, layout.hosts) || network.oversubscription <= 1) return 1;
  const Use use = use_of(algorithm);
  if (use.crossing > 0) {
    const double uplink = network.hosts_per_switch * network.nics / network.oversubscription;
    return std::max(1.0, use.crossing / uplink);
  }
  const double share = crossing_share(algorithm, layout, network.hosts_per_switch);
  // Rounds of pairs are either near or far, and far ones wait; else near and far go on side by side.
  const bool rounds = algorithm == "recursive_doubling" || algorithm.starts_with("halving");
  return rounds ? 1 + share * (network.oversubscription - 1)
                : std::max(1.0, share * network.oversubscription);
}

// The network as one algorithm has it.
Network as_used(const Network& network, std::string_view algorithm, const cost::Layout& layout) {
  Network used = network;
  const Use use = use_of(algorithm);
  const int flows = use.flows == 0 ? layout.each : std::min(use.flows, layout.each);
  used.gb_per_s *= std::clamp(flows, 1, network.nics) / congestion(network, algorithm, layout);
  if (is_two_level(network, layout.hosts)) used.hop_us += network.spine_us;
  return used;
}

bool may_run(std::string_view algorithm, const cost::Layout& layout) {
  if (algorithm == "direct") return layout.n <= kDirectMembersMax;
  return algorithm != "hierarchical" || layout.each > 1;
}

MoveCost best_of(std::span<const std::string_view> names, Predict predict, const Network& network,
                 std::int64_t bytes, const cost::Layout& layout) {
  MoveCost best;
  double least = 0;
  cost::Costs best_costs;
  const bool known = std::find(names.begin(), names.end(), network.algorithm) != names.end();
  for (const std::string_view name : names) {
    if (!may_run(name, layout)) continue;
    if (known && may_run(network.algorithm, layout) && name != network.algorithm) continue;
    const cost::Costs costs = link_costs(as_used(network, name, layout));
    const double all = 1e6 * predict(name, layout, static_cast<std::size_t>(bytes), costs);
    if (!best.algorithm.empty() && all >= least) continue;
    least = all;
    best.algorithm = name;
    best_costs = costs;
  }
  // Of the algorithm that is best for these bytes, not of the one that is best for none.
  best.latency_us = std::min(1e6 * predict(best.algorithm, layout, 0, best_costs), least);
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

MoveCost encoded_cost(const Network& network, std::string_view codec, std::int64_t bytes, int ranks,
                      int ranks_per_host) {
  const encode::Codec* by = codec.empty() ? nullptr : encode::find_codec(codec);
  if (by == nullptr) return allreduce_cost(network, bytes, ranks, ranks_per_host);
  constexpr int kDirectRanksMax = 8;
  const auto elements = static_cast<std::size_t>(bytes) / size_of(DType::f32);
  const auto wire = static_cast<std::int64_t>(by->wire_bytes(DType::f32, elements));
  // One half of an allreduce reduces, the other gathers what is rounded.
  const std::int64_t sent = ranks <= kDirectRanksMax ? wire : (bytes + wire) / 2;
  MoveCost cost = allreduce_cost(network, sent, ranks, ranks_per_host);
  cost.bandwidth_us += 1e-3 * network.codec_ns_per_byte * static_cast<double>(bytes);
  return cost;
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
