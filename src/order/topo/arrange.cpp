// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/topo/arrange.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace unisono::order {
namespace {

using Edge = std::function<bool(std::size_t from, std::size_t to)>;

struct Ranked {                         // lower goes first
  std::uint64_t position;
  std::string_view name;
  std::size_t unit;
  friend auto operator<=>(const Ranked&, const Ranked&) = default;
};

std::int32_t priority_of(const TopoUnit& unit) {
  return std::max_element(unit.begin(), unit.end(), [](const Request& a, const Request& b) {
           return a.priority < b.priority;
         })->priority;
}

std::int64_t bytes_of(const TopoUnit& unit) {
  std::int64_t bytes = 0;
  for (const Request& request : unit) bytes += static_cast<std::int64_t>(request.bytes());
  return bytes;
}

// The units in the order of `ranked`, so that those answered earlier win where nothing else decides.
IterationGraph graph_of(const std::vector<TopoUnit>& units, const std::vector<Ranked>& ranked,
                        const Edge& edge, bool fuse_groups) {
  IterationGraph graph{std::vector<IterationUnit>(units.size()), IterationEdges(units.size())};
  std::vector<const Request*> kinds;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    const TopoUnit& unit = units[ranked[i].unit];
    const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const Request* each) {
      return travel_together(*each, unit.front());
    });
    graph.units[i] = {.bytes = bytes_of(unit),
                      .priority = priority_of(unit),
                      .kind = static_cast<std::uint32_t>(kind - kinds.begin()),
                      .alone = !unit.front().group.empty() && !fuse_groups,
                      .team = unit.front().team,
                      .sums = unit.front().kind == Collective::allreduce &&
                              unit.front().op != ReduceOp::adasum,
                      .dtype = unit.front().dtype,
                      .codecs = unit.front().plan_codecs};
    if (kind == kinds.end()) kinds.push_back(&unit.front());
    for (std::size_t j = 0; j < ranked.size(); ++j) {
      if (i != j && edge(ranked[i].unit, ranked[j].unit)) graph.edges.add(i, j);
    }
  }
  return graph;
}

// Neighbours of one linear extension while they fit. Fewer units than there are: a cycle.
IterationBuckets fill(const IterationGraph& graph, std::size_t bucket_bytes_max) {
  const std::size_t count = graph.units.size();
  const auto key = [&](std::size_t u) {
    return std::pair(-static_cast<std::int64_t>(graph.units[u].priority), u);
  };
  std::vector<std::size_t> blocked(count, 0);
  std::set<std::pair<std::int64_t, std::size_t>> free;
  for (std::size_t to = 0; to < count; ++to) {
    for (std::size_t from = 0; from < count; ++from) blocked[to] += graph.edges.has(from, to);
    if (blocked[to] == 0) free.insert(key(to));
  }
  IterationBuckets buckets;
  std::int64_t open_bytes = 0;
  while (!free.empty()) {
    const std::size_t u = free.begin()->second;
    free.erase(free.begin());
    for (std::size_t to = 0; to < count; ++to) {
      if (graph.edges.has(u, to) && --blocked[to] == 0) free.insert(key(to));
    }
    const IterationUnit& unit = graph.units[u];
    const auto shares = [&](const std::vector<std::uint32_t>& open) {
      const IterationUnit& first = graph.units[open.front()];
      return !unit.alone && !first.alone && unit.kind == first.kind &&
             static_cast<std::uint64_t>(open_bytes + unit.bytes) <= bucket_bytes_max &&
             std::none_of(open.begin(), open.end(),
                          [&](std::uint32_t each) { return graph.edges.has(each, u); });
    };
    if (buckets.empty() || !shares(buckets.back())) {
      buckets.emplace_back();
      open_bytes = 0;
    }
    buckets.back().push_back(static_cast<std::uint32_t>(u));
    open_bytes += unit.bytes;
  }
  return buckets;
}

// Where nobody chose, what names no team takes turns with the channels.
std::shared_ptr<const TopoPlan> plan_of(const std::vector<TopoUnit>& units,
                                        const std::vector<Ranked>& ranked,
                                        const IterationBuckets& buckets, std::uint32_t channels,
                                        const IterationMethods& chosen = {}) {
  std::vector<std::vector<Request>> planned;
  std::vector<BucketMethod> methods(buckets.size());
  for (const auto& bucket : buckets) {
    const std::uint32_t team = units[ranked[bucket.front()].unit].front().team;
    methods[planned.size()].channel =
        (team > 0 ? team - 1 : static_cast<std::uint32_t>(planned.size())) % channels;
    if (!chosen.empty()) methods[planned.size()] = chosen[planned.size()].method;
    planned.emplace_back();
    for (const std::uint32_t u : bucket) {
      const TopoUnit& unit = units[ranked[u].unit];
      planned.back().insert(planned.back().end(), unit.begin(), unit.end());
    }
  }
  return std::make_shared<const TopoPlan>(std::move(planned), std::move(methods));
}

bool sound(const TopoGraph& graph) {
  std::set<std::string_view> names;
  for (const TopoUnit& unit : graph.units) {
    if (!plannable(unit)) return false;
    for (const Request& request : unit) {
      if (!names.insert(request.name).second) return false;
    }
  }
  return !graph.units.empty() &&
         std::all_of(graph.edges.begin(), graph.edges.end(), [&](const auto& edge) {
           return edge.first < graph.units.size() && edge.second < graph.units.size();
         });
}

}  // namespace

Arranged arrange(const std::vector<TopoUnit>& units,
                 const std::vector<std::vector<std::uint32_t>>& positions, const Lesson& merged,
                 const ArrangeBy& by) {
  // What was seen done was answered before, so every edge points forward in every iteration. Only a
  // lesson that was shortened says more; checking the positions keeps cycles out.
  const Edge edge = [&](std::size_t a, std::size_t b) {
    return merged.edge(a, b) &&
           std::all_of(positions.begin(), positions.end(),
                       [&](const auto& iteration) { return iteration[a] < iteration[b]; });
  };
  std::vector<Ranked> ranked;
  for (std::size_t u = 0; u < units.size(); ++u) {
    ranked.push_back({0, units[u].front().name, u});
    for (const auto& iteration : positions) ranked.back().position += iteration[u];
  }
  std::sort(ranked.begin(), ranked.end());
  IterationGraph graph = graph_of(units, ranked, edge, by.fuse_groups);
  IterationBuckets buckets;
  if (by.arranger != nullptr) {
    for (std::size_t i = 0; i < ranked.size(); ++i) {
      graph.units[i].ready_ns = static_cast<std::int64_t>(merged.ready_ns[ranked[i].unit]);
    }
    buckets = by.arranger->arrange(graph);
  }
  // What a planner got wrong is not followed.
  const bool arranged = !buckets.empty() && fault_of(graph, buckets).empty();
  if (!arranged) buckets = fill(graph, by.bucket_bytes_max);
  if (!arranged) return {plan_of(units, ranked, buckets, by.channels), {}, {}, {}};
  IterationMethods methods = by.arranger->methods(graph, buckets);
  if (!fault_of(graph, buckets, methods, by.channels).empty()) methods.clear();
  Arranged made{plan_of(units, ranked, buckets, by.channels, methods), {}, {}, {}};
  for (const MethodChoice& choice : methods) made.reasons.push_back(choice.reason);
  for (const auto& bucket : buckets) {
    for (const std::uint32_t u : bucket) {
      made.unit_of.insert(made.unit_of.end(), units[ranked[u].unit].size(), u);
    }
  }
  made.iteration = {by.arranger, std::move(graph), std::move(buckets), std::move(methods)};
  return made;
}

std::shared_ptr<const TopoPlan> arrange(const TopoGraph& graph, std::size_t bucket_bytes_max,
                                        std::uint32_t channels, bool fuse_groups) {
  if (!sound(graph)) return nullptr;
  const std::size_t count = graph.units.size();
  IterationEdges edges(count);
  std::vector<std::vector<std::size_t>> after(count);
  std::vector<std::size_t> blocked(count, 0), line;
  for (const auto& [from, to] : graph.edges) {
    if (edges.has(from, to)) continue;
    edges.add(from, to);
    after[from].push_back(to);
    ++blocked[to];
  }
  // The depth of each, in the order in which their last predecessors are known.
  for (std::size_t u = 0; u < count; ++u) {
    if (blocked[u] == 0) line.push_back(u);
  }
  std::vector<std::uint64_t> depth(count, 0);
  for (std::size_t at = 0; at < line.size(); ++at) {
    for (const std::size_t to : after[line[at]]) {
      depth[to] = std::max(depth[to], depth[line[at]] + 1);
      if (--blocked[to] == 0) line.push_back(to);
    }
  }
  if (line.size() != count) return nullptr;
  std::vector<Ranked> ranked;
  for (std::size_t u = 0; u < count; ++u) ranked.push_back({depth[u] * count + u, {}, u});
  std::sort(ranked.begin(), ranked.end());
  const Edge edge = [&](std::size_t a, std::size_t b) { return edges.has(a, b); };
  const IterationGraph made = graph_of(graph.units, ranked, edge, fuse_groups);
  return plan_of(graph.units, ranked, fill(made, bucket_bytes_max), channels);
}

}  // namespace unisono::order
