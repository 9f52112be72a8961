// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/graph/collective_order.hpp"

#include <algorithm>
#include <unordered_set>

#include "base/data/bytes.hpp"
#include "base/data/hash.hpp"
#include "base/data/text.hpp"

namespace unisono::order {
namespace {

// For each node, which collectives it needs: so many bytes are too many.
constexpr std::size_t kNeedsBytesMax = std::size_t{256} << 20;

Status wrong(const ComputeNode& node, std::string_view what) {
  return Status(Code::invalid_argument, cat("the graph's node '", node.name, "' ", what));
}

Status check_nodes(std::span<const ComputeNode> nodes, std::span<const std::uint32_t> fetches) {
  std::unordered_set<std::string_view> names;
  for (const ComputeNode& node : nodes) {
    for (const std::uint32_t input : node.inputs) {
      if (input >= nodes.size()) {
        return wrong(node, cat("needs node ", input, ", but there are ", nodes.size()));
      }
    }
    if (!node.collective) continue;
    if (!names.insert(node.collective->name).second) {
      return wrong(node, "is a collective whose name another one has too");
    }
    // Nobody knows the rows of other ranks before the first step.
    const bool unknown_rows = traits_of(node.collective->kind).free_rows;
    if (unknown_rows || !plannable({&*node.collective, 1})) {
      return wrong(node, cat("is ", name_of(node.collective->kind), " of ",
                             name_of(node.collective->dtype), ", which cannot be planned"));
    }
  }
  for (const std::uint32_t fetch : fetches) {
    if (fetch < nodes.size()) continue;
    return Status(Code::invalid_argument,
                  cat("the graph fetches node ", fetch, ", but there are ", nodes.size()));
  }
  if (names.empty()) return Status(Code::invalid_argument, "the graph has no collective");
  if (names.size() <= kTopoUnitsMax) return {};
  return Status(Code::invalid_argument, cat("the graph has ", names.size(),
                                            " collectives; at most ", kTopoUnitsMax,
                                            " are planned"));
}

// Every node that the fetches need, after all it needs itself. No recursion: graphs are deep.
Result<std::vector<std::uint32_t>> line_of(std::span<const ComputeNode> nodes,
                                           std::span<const std::uint32_t> fetches) {
  enum class Seen : std::uint8_t { no, open, done };
  struct Visit {
    std::uint32_t node;
    std::size_t next = 0;               // input to look at
  };
  std::vector<Seen> seen(nodes.size(), Seen::no);
  std::vector<std::uint32_t> line;
  std::vector<Visit> stack;
  for (const std::uint32_t fetch : fetches) {
    if (seen[fetch] == Seen::no) stack.push_back({fetch});
    while (!stack.empty()) {
      Visit& visit = stack.back();
      const ComputeNode& node = nodes[visit.node];
      seen[visit.node] = Seen::open;
      if (visit.next == node.inputs.size()) {
        seen[visit.node] = Seen::done;
        line.push_back(visit.node);
        stack.pop_back();
        continue;
      }
      const std::uint32_t input = node.inputs[visit.next++];
      if (seen[input] == Seen::open) return wrong(node, cat("needs itself, through '",
                                                            nodes[input].name, "'"));
      if (seen[input] == Seen::no) stack.push_back({input});
    }
  }
  return line;
}

}  // namespace

Result<TopoGraph> collective_order(std::span<const ComputeNode> nodes,
                                   std::span<const std::uint32_t> fetches) {
  if (Status bad = check_nodes(nodes, fetches); !bad) return bad;
  auto line = line_of(nodes, fetches);
  if (!line.ok()) return line.status();
  TopoGraph graph;
  std::vector<std::uint32_t> unit_of(nodes.size(), UINT32_MAX);
  for (const std::uint32_t n : *line) {
    if (!nodes[n].collective) continue;
    unit_of[n] = static_cast<std::uint32_t>(graph.units.size());
    graph.units.push_back({*nodes[n].collective});
  }
  if (graph.units.empty()) {
    return Status(Code::invalid_argument, "nothing that the graph fetches needs a collective");
  }
  // A bit for each collective that a node needs with no other between.
  const std::size_t words = (graph.units.size() + 63) / 64;
  if (words * sizeof(std::uint64_t) * nodes.size() > kNeedsBytesMax) {
    return Status(Code::invalid_argument, cat("the graph of ", nodes.size(), " nodes and ",
                                              graph.units.size(), " collectives is too large"));
  }
  std::vector<std::uint64_t> needs(words * nodes.size(), 0);
  std::vector<std::uint64_t> needed(words * graph.units.size(), 0);  // by collective, through others
  for (const std::uint32_t n : *line) {
    std::uint64_t* own = &needs[n * words];
    for (const std::uint32_t input : nodes[n].inputs) {
      if (const std::uint32_t unit = unit_of[input]; unit != UINT32_MAX) {
        own[unit / 64] |= std::uint64_t{1} << (unit % 64);
      } else {
        for (std::size_t w = 0; w < words; ++w) own[w] |= needs[input * words + w];
      }
    }
    const std::uint32_t to = unit_of[n];
    if (to == UINT32_MAX) continue;
    // The latest first: what it needs itself is needed through it.
    std::uint64_t* all = &needed[to * words];
    std::vector<std::uint64_t> left(own, own + words);
    for (std::uint32_t from = to; from-- > 0;) {
      if ((left[from / 64] >> (from % 64) & 1) == 0) continue;
      graph.edges.emplace_back(from, to);
      all[from / 64] |= std::uint64_t{1} << (from % 64);
      for (std::size_t w = 0; w < words; ++w) {
        const std::uint64_t through = needed[from * words + w];
        all[w] |= through;
        left[w] &= ~through;
      }
    }
  }
  return graph;
}

std::string GivenGraphs::keep(TopoGraph graph) {
  ByteWriter bytes;
  for (const TopoUnit& unit : graph.units) encode_request(unit.front(), bytes);
  for (const auto& [from, to] : graph.edges) {
    bytes.put(static_cast<std::uint64_t>(from));
    bytes.put(static_cast<std::uint64_t>(to));
  }
  std::string name = cat(hash_bytes(bytes.bytes()));
  const std::lock_guard lock(mutex_);
  std::erase_if(graphs_, [&](const auto& kept) { return kept.first == name; });
  graphs_.emplace_back(name, std::make_shared<const TopoGraph>(std::move(graph)));
  if (graphs_.size() > kKept) graphs_.erase(graphs_.begin());
  return name;
}

std::shared_ptr<const TopoGraph> GivenGraphs::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [known, graph] : graphs_) {
    if (known == name) return graph;
  }
  return nullptr;
}

}  // namespace unisono::order
