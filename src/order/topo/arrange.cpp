// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/topo/arrange.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

namespace unisono::order {
namespace {

using Edge = std::function<bool(std::size_t from, std::size_t to)>;
using Rankings = std::vector<std::uint64_t>;  // by unit: lower goes first

std::int32_t priority_of(const TopoUnit& unit) {
  return std::max_element(unit.begin(), unit.end(), [](const Request& a, const Request& b) {
           return a.priority < b.priority;
         })->priority;
}

// Returns fewer units than there are when there is a cycle.
std::vector<std::size_t> linear_extension(const std::vector<TopoUnit>& units,
                                          const Rankings& rankings, const Edge& edge) {
  const std::size_t count = units.size();
  const auto key = [&](std::size_t u) {
    return std::tuple(-static_cast<std::int64_t>(priority_of(units[u])), rankings[u],
                      std::string_view(units[u].front().name), u);
  };
  std::vector<std::size_t> blocked(count, 0);
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = 0; b < count; ++b) blocked[b] += a != b && edge(a, b) ? 1 : 0;
  }
  std::set<decltype(key(0))> free;
  for (std::size_t u = 0; u < count; ++u) {
    if (blocked[u] == 0) free.insert(key(u));
  }
  std::vector<std::size_t> line;
  while (!free.empty()) {
    const std::size_t u = std::get<3>(*free.begin());
    free.erase(free.begin());
    line.push_back(u);
    for (std::size_t b = 0; b < count; ++b) {
      if (b != u && edge(u, b) && --blocked[b] == 0) free.insert(key(b));
    }
  }
  return line;
}

std::size_t bytes_of(const TopoUnit& unit) {
  std::size_t bytes = 0;
  for (const Request& request : unit) bytes += request.bytes();
  return bytes;
}

std::shared_ptr<const TopoPlan> bucket_up(const std::vector<TopoUnit>& units,
                                          const std::vector<std::size_t>& line, const Edge& edge,
                                          std::size_t bucket_bytes_max) {
  std::vector<std::vector<Request>> buckets;
  std::vector<std::size_t> open;        // units of the last bucket
  std::size_t open_bytes = 0;
  for (const std::size_t u : line) {
    const TopoUnit& unit = units[u];
    const std::size_t bytes = bytes_of(unit);
    const bool joins = !open.empty() && unit.front().group.empty() &&
                       units[open.front()].front().group.empty() &&
                       travel_together(unit.front(), units[open.front()].front()) &&
                       open_bytes + bytes <= bucket_bytes_max &&
                       std::none_of(open.begin(), open.end(),
                                    [&](std::size_t a) { return edge(a, u); });
    if (!joins) {
      buckets.emplace_back();
      open.clear();
      open_bytes = 0;
    }
    open.push_back(u);
    open_bytes += bytes;
    buckets.back().insert(buckets.back().end(), unit.begin(), unit.end());
  }
  return std::make_shared<const TopoPlan>(std::move(buckets));
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

std::shared_ptr<const TopoPlan> arrange(const std::vector<TopoUnit>& units,
                                        const std::vector<std::vector<std::uint32_t>>& positions,
                                        const Lesson& merged, std::size_t bucket_bytes_max) {
  // What was seen done was answered before, so every edge points forward in every iteration. Only a
  // lesson that was shortened says more; checking the positions keeps cycles out.
  const Edge edge = [&](std::size_t a, std::size_t b) {
    return merged.edge(a, b) &&
           std::all_of(positions.begin(), positions.end(),
                       [&](const auto& iteration) { return iteration[a] < iteration[b]; });
  };
  Rankings rankings(units.size(), 0);
  for (const auto& iteration : positions) {
    for (std::size_t u = 0; u < units.size(); ++u) rankings[u] += iteration[u];
  }
  return bucket_up(units, linear_extension(units, rankings, edge), edge, bucket_bytes_max);
}

std::shared_ptr<const TopoPlan> arrange(const TopoGraph& graph, std::size_t bucket_bytes_max) {
  if (!sound(graph)) return nullptr;
  const std::size_t count = graph.units.size();
  const std::set<std::pair<std::size_t, std::size_t>> edges(graph.edges.begin(),
                                                            graph.edges.end());
  const Edge edge = [&](std::size_t a, std::size_t b) { return edges.contains({a, b}); };
  const std::vector<std::size_t> any = linear_extension(graph.units, Rankings(count, 0), edge);
  if (any.size() != count) return nullptr;
  std::vector<std::uint64_t> depth(count, 0);
  for (const std::size_t u : any) {
    for (auto it = edges.lower_bound({u, 0}); it != edges.end() && it->first == u; ++it) {
      depth[it->second] = std::max(depth[it->second], depth[u] + 1);
    }
  }
  Rankings rankings(count);
  for (std::size_t u = 0; u < count; ++u) rankings[u] = depth[u] * count + u;
  return bucket_up(graph.units, linear_extension(graph.units, rankings, edge), edge,
                   bucket_bytes_max);
}

}  // namespace unisono::order
