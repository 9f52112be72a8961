// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "affinity/topology.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "affinity/bind.hpp"

namespace unisono::affinity {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Cpus first_cpus(int count) {
  Cpus cpus(static_cast<std::size_t>(count));
  std::iota(cpus.begin(), cpus.end(), 0);
  return cpus;
}

Cpus all_cpus(const Topology& topology) {
  Cpus cpus;
  for (const NumaNode& node : topology.nodes) {
    for (const Cpus& core : node.cores) cpus.insert(cpus.end(), core.begin(), core.end());
  }
  std::sort(cpus.begin(), cpus.end());
  return cpus;
}

TEST(Topology, OfAMaskIsOneNodeOfSingleCores) {
  const Topology topology = topology_from_mask({1, 4, 6});
  ASSERT_EQ(topology.nodes.size(), 1u);
  EXPECT_THAT(topology.nodes[0].cores, ElementsAre(Cpus{1}, Cpus{4}, Cpus{6}));
  EXPECT_EQ(topology.quota, 3);
  EXPECT_THAT(topology.to_string(), HasSubstr("without hwloc"));
}

TEST(Topology, OfNoCpusHasNoNodes) {
  EXPECT_TRUE(topology_from_mask({}).nodes.empty());
  EXPECT_FALSE(topology_from_hwloc({}).has_value());
}

TEST(Topology, KnowsNodesCoresAndCaches) {
  const auto topology =
      topology_from_hwloc(first_cpus(8), "node:2 l3:1(size=32MB) l2:2(size=1MB) core:1 pu:2");
  if (!topology) GTEST_SKIP() << "built without hwloc";
  ASSERT_EQ(topology->nodes.size(), 2u);
  EXPECT_THAT(topology->nodes[0].cores, ElementsAre(Cpus{0, 1}, Cpus{2, 3}));
  EXPECT_THAT(topology->nodes[1].cores, ElementsAre(Cpus{4, 5}, Cpus{6, 7}));
  EXPECT_EQ(topology->cores(), 4);
  EXPECT_GT(topology->l2_bytes, 0);
  EXPECT_EQ(topology->llc_bytes, 32 * topology->l2_bytes);
  EXPECT_THAT(topology->to_string(), HasSubstr("hwloc"));
}

TEST(Topology, LeavesOutWhatTheMaskForbids) {
  const auto topology = topology_from_hwloc({1, 2}, "node:2 core:2 pu:2");
  if (!topology) GTEST_SKIP() << "built without hwloc";
  ASSERT_EQ(topology->nodes.size(), 1u);
  EXPECT_THAT(topology->nodes[0].cores, ElementsAre(Cpus{1}, Cpus{2}));
}

TEST(Topology, KeepsCpusThatNoNodeClaims) {
  const auto topology = topology_from_hwloc({0, 1, 9}, "node:1 core:2 pu:1");
  if (!topology) GTEST_SKIP() << "built without hwloc";
  EXPECT_EQ(all_cpus(*topology), (Cpus{0, 1, 9}));
}

TEST(Topology, OfThisMachineHoldsEveryAllowedCpuOnce) {
  const Topology topology = read_topology();
  EXPECT_EQ(topology.allowed, bound_cpus());
  EXPECT_EQ(all_cpus(topology), topology.allowed);
  EXPECT_GE(topology.quota, 1);
  EXPECT_LE(topology.quota, static_cast<int>(topology.allowed.size()));
  RecordProperty("topology", topology.to_string());
}

}  // namespace
}  // namespace unisono::affinity
