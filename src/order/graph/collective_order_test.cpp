// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/graph/collective_order.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/data/rng.hpp"
#include "base/data/text.hpp"
#include "order/testing/virtual_net.hpp"

namespace unisono::order {
namespace {

using testing::HasSubstr;

ComputeNode computes(std::string name, std::vector<std::uint32_t> inputs = {}) {
  return {std::move(name), std::move(inputs), {}};
}
ComputeNode reduces(const std::string& name, std::vector<std::uint32_t> inputs = {}) {
  return {name, std::move(inputs), tensor_request(name)};
}

std::vector<std::string> names_of_units(const TopoGraph& graph) {
  std::vector<std::string> names;
  for (const TopoUnit& unit : graph.units) names.push_back(unit.front().name);
  return names;
}

std::string why(std::vector<ComputeNode> nodes, std::vector<std::uint32_t> fetches) {
  return collective_order(nodes, fetches).status().message();
}

// Two layers: the backward pass makes the last layer's gradient first; the step needs both.
TEST(CollectiveOrder, ComesFromWhatIsFetchedBackThroughTheInputs) {
  const std::vector<ComputeNode> nodes = {
      computes("loss"),        computes("grad2", {0}),    reduces("sum2", {1}),
      computes("grad1", {1}),  reduces("sum1", {3}),      computes("step", {2, 4}),
      reduces("unused", {0}),
  };
  const std::vector<std::uint32_t> fetches = {5};
  auto graph = collective_order(nodes, fetches);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(names_of_units(*graph), (std::vector<std::string>{"sum2", "sum1"}));
  EXPECT_TRUE(graph->edges.empty()) << "neither waits for the other";
}

TEST(CollectiveOrder, AnEdgeRunsWhereOneCollectiveNeedsAnother) {
  const std::vector<ComputeNode> nodes = {reduces("a"), computes("between", {0}),
                                          reduces("b", {1}), reduces("c", {2})};
  const std::vector<std::uint32_t> fetches = {3};
  auto graph = collective_order(nodes, fetches);
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(names_of_units(*graph), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(graph->edges, (std::vector<std::pair<std::size_t, std::size_t>>{{0, 1}, {1, 2}}));
  ASSERT_NE(arrange(*graph, 1 << 20), nullptr);
  EXPECT_EQ(arrange(*graph, 1 << 20)->size(), 3u);
}

TEST(CollectiveOrder, WhatIsWrongIsNamed) {
  EXPECT_THAT(why({reduces("a", {1})}, {0}), HasSubstr("'a' needs node 1"));
  EXPECT_THAT(why({reduces("a")}, {4}), HasSubstr("fetches node 4"));
  EXPECT_THAT(why({reduces("a", {1}), computes("b", {0})}, {0}), HasSubstr("needs itself"));
  EXPECT_THAT(why({reduces("a", {0})}, {0}), HasSubstr("needs itself"));
  EXPECT_THAT(why({reduces("a"), reduces("a")}, {0}), HasSubstr("another one has too"));
  EXPECT_THAT(why({computes("a")}, {0}), HasSubstr("no collective"));
  EXPECT_THAT(why({computes("a"), reduces("b")}, {0}), HasSubstr("nothing that the graph fetches"));
  ComputeNode gather = reduces("g");
  gather.collective->kind = Collective::allgather;
  EXPECT_THAT(why({gather}, {0}), HasSubstr("cannot be planned"));
}

// As large as the largest graph of the paper whose order this is, and as deep as can be.
TEST(CollectiveOrder, LargeAndDeepGraphsKeepEveryNodeAfterWhatItNeeds) {
  Rng rng(3);
  std::vector<ComputeNode> nodes;
  std::size_t edges = 0;
  for (std::uint32_t n = 0; n < 11'128; ++n) {
    ComputeNode node = n % 70 == 9 ? reduces(cat("sum", n)) : computes(cat("node", n));
    if (n > 0) node.inputs.push_back(n - 1);
    if (n > 1 && edges + node.inputs.size() < 16'956 && rng.below(2) == 0) {
      node.inputs.push_back(static_cast<std::uint32_t>(rng.below(n - 1)));
    }
    edges += node.inputs.size();
    nodes.push_back(std::move(node));
  }
  const std::vector<std::uint32_t> fetches = {11'127};
  auto graph = collective_order(nodes, fetches);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(graph->units.size(), 159u);
  for (const auto& [from, to] : graph->edges) EXPECT_LT(from, to);
  ASSERT_NE(arrange(*graph, 1 << 20), nullptr);
}

TEST(GivenGraphs, EqualGraphsHaveOneNameAndOthersHaveOthers) {
  const auto graph = [](const char* second) {
    TopoGraph made;
    made.units = {{tensor_request("a")}, {tensor_request(second)}};
    return made;
  };
  GivenGraphs here, there;
  EXPECT_EQ(here.keep(graph("b")), there.keep(graph("b")));
  EXPECT_NE(here.keep(graph("b")), there.keep(graph("c")));
  EXPECT_NE(here.find(here.keep(graph("b"))), nullptr);
  EXPECT_EQ(here.find("7"), nullptr);
}

}  // namespace
}  // namespace unisono::order
