// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Graphs that a caller gives, instead of an order that is learned.
#include "base/data/text.hpp"
#include "engine/core.hpp"
#include "order/graph/collective_order.hpp"
#include "submit/front_door.hpp"

namespace unisono::engine {

Result<std::string> EngineCore::keep_graph(const Graph& graph, SetId set) {
  const Members in_set = members(set);
  std::vector<order::ComputeNode> nodes;
  nodes.reserve(graph.nodes.size());
  for (const GraphNode& node : graph.nodes) {
    order::ComputeNode& made = nodes.emplace_back();
    made.name = node.name;
    made.inputs = node.inputs;
    if (!node.sum) continue;
    // The request as submit() would make it; the data itself comes later.
    Operation operation{.name = node.name, .dtype = node.dtype, .shape = node.shape, .input = this};
    if (auto status = submit::check_open_to_callers(operation); !status) return status;
    Settings settings = node.settings;
    settings.process_set = set;
    auto request = submit::make_request(operation, settings,
                                        in_set.ranks.empty() ? nullptr : &in_set, codecs_);
    if (!request) return request.status();
    made.collective = std::move(*request);
  }
  auto ordered = order::collective_order(nodes, graph.fetches);
  if (!ordered) return ordered.status();
  return graphs_->keep(std::move(*ordered));
}

}  // namespace unisono::engine
