// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The order of collectives in a graph that a framework knows: depth first from what is fetched back
// through the inputs, so that every node comes after all it needs. Nodes that nothing fetched needs
// are left out, as a framework would never run them. Pure; thread: any.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/request.hpp"
#include "order/topo/arrange.hpp"
#include "unisono/status.hpp"

namespace unisono::order {

struct ComputeNode {
  std::string name;
  std::vector<std::uint32_t> inputs;    // nodes that end before this one begins
  std::optional<Request> collective;    // none: it computes
};

// The collectives in that order, with an edge where one needs another with none between them. A
// Status names the node that is wrong: an input or a fetch that does not exist, a circle, a name
// twice, what cannot be planned, too many.
Result<TopoGraph> collective_order(std::span<const ComputeNode> nodes,
                                   std::span<const std::uint32_t> fetches);

// The graphs that callers of one engine gave, by a name that equal graphs have in common, on all
// ranks. Thread-safe.
class GivenGraphs {
 public:
  std::string keep(TopoGraph graph);
  std::shared_ptr<const TopoGraph> find(std::string_view name) const;

 private:
  static constexpr std::size_t kKept = 16;
  mutable std::mutex mutex_;
  std::vector<std::pair<std::string, std::shared_ptr<const TopoGraph>>> graphs_;
};

}  // namespace unisono::order
