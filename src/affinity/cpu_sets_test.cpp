// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "affinity/cpu_sets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/data/rng.hpp"

namespace unisono::affinity {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// CPUs are numbered as on most servers: the second hyper-threads after all first ones.
Topology machine(int nodes, int cores_per_node, int threads = 1) {
  Topology topology;
  const int cores = nodes * cores_per_node;
  for (int n = 0; n < nodes; ++n) {
    NumaNode node{n, {}};
    for (int c = 0; c < cores_per_node; ++c) {
      Cpus core;
      for (int t = 0; t < threads; ++t) core.push_back(t * cores + n * cores_per_node + c);
      node.cores.push_back(std::move(core));
    }
    topology.nodes.push_back(std::move(node));
  }
  for (int cpu = 0; cpu < cores * threads; ++cpu) topology.allowed.push_back(cpu);
  topology.quota = cores * threads;
  topology.source = "test";
  return topology;
}

Placement plan(const Topology& topology, int rank, int ranks, std::string_view text) {
  auto placement = plan_cpu_sets(topology, rank, ranks, *parse_cpu_request(text));
  EXPECT_TRUE(placement.ok()) << placement.status().to_string();
  return *placement;
}

TEST(CpuSets, OffPlansNothing) {
  const Placement sets = plan(machine(1, 8), 0, 1, "off");
  EXPECT_THAT(sets.engine, IsEmpty());
  EXPECT_THAT(sets.compute, IsEmpty());
  EXPECT_EQ(sets.reason, "cpu_sets is off");
}

TEST(CpuSets, FractionDividesTheRanksCores) {
  const Placement sets = plan(machine(1, 16), 0, 1, "0.25");
  EXPECT_THAT(sets.engine, ElementsAre(0, 1));
  EXPECT_THAT(sets.input, ElementsAre(2, 3));
  EXPECT_EQ(cpu_list_text(sets.compute), "4-15");
  EXPECT_THAT(sets.reason, HasSubstr("engine=0-1;input=2-3;compute=4-15"));
}

TEST(CpuSets, SmallestMachineKeepsOneCoreToCompute) {
  const Placement sets = plan(machine(1, 2), 0, 1, "0.1");
  EXPECT_THAT(sets.engine, ElementsAre(0));
  EXPECT_THAT(sets.input, IsEmpty());
  EXPECT_THAT(sets.compute, ElementsAre(1));
}

TEST(CpuSets, OffWithReasonWhenNothingIsLeftToCompute) {
  EXPECT_THAT(plan(machine(1, 1), 0, 1, "0.5").reason, HasSubstr("leaves none to compute"));
  EXPECT_THAT(plan(machine(1, 2), 1, 2, "0.5").engine, IsEmpty());
  EXPECT_THAT(plan(machine(1, 2), 3, 4, "0.5").reason, HasSubstr("start fewer ranks"));
  EXPECT_THAT(plan(machine(1, 4), 0, 1, "0.99").compute, IsEmpty());
  EXPECT_THAT(plan(Topology{}, 0, 1, "0.5").compute, IsEmpty());
}

TEST(CpuSets, OffWithReasonWhenTheQuotaIsLessThanTheMask) {
  Topology topology = machine(2, 8);
  topology.quota = 4;
  EXPECT_THAT(plan(topology, 0, 1, "0.25").reason, HasSubstr("quota"));
  EXPECT_THAT(plan(topology, 0, 1, "engine=0;compute=1-3").engine, ElementsAre(0));
}

TEST(CpuSets, HyperThreadsStayWithTheirCore) {
  const Placement sets = plan(machine(1, 4, 2), 0, 1, "0.5");
  EXPECT_THAT(sets.engine, ElementsAre(0, 4));
  EXPECT_THAT(sets.input, ElementsAre(1, 5));
  EXPECT_THAT(sets.compute, ElementsAre(2, 3, 6, 7));
}

TEST(CpuSets, RanksFollowNodes) {
  const Topology topology = machine(2, 4);
  EXPECT_EQ(cores_of_rank(topology, 0, 1).size(), 8u);
  EXPECT_EQ(cores_of_rank(topology, 1, 2), topology.nodes[1].cores);
  EXPECT_EQ(cores_of_rank(topology, 0, 3), (std::vector<Cpus>{{0}, {1}}));
  EXPECT_EQ(cores_of_rank(topology, 2, 3), topology.nodes[1].cores);
  EXPECT_EQ(cores_of_rank(topology, 3, 4), (std::vector<Cpus>{{6}, {7}}));
  EXPECT_THAT(cores_of_rank(topology, 0, 9), IsEmpty());
}

TEST(CpuSets, LopsidedMaskIsDealtAsOneRow) {
  Topology topology = machine(2, 4);
  topology.nodes[0].cores.resize(1);
  EXPECT_EQ(cores_of_rank(topology, 0, 4), (std::vector<Cpus>{{0}}));
  EXPECT_EQ(cores_of_rank(topology, 3, 4), (std::vector<Cpus>{{6}, {7}}));
}

TEST(CpuSets, ListsAreTakenAsTheyAre) {
  const Placement sets = plan(machine(1, 4), 1, 2, "engine=3;input=;compute=0-1");
  EXPECT_THAT(sets.engine, ElementsAre(3));
  EXPECT_THAT(sets.compute, ElementsAre(0, 1));
}

TEST(CpuSets, ListedCpuOutsideTheMaskIsAnError) {
  const auto sets =
      plan_cpu_sets(machine(1, 4), 0, 1, *parse_cpu_request("engine=0;compute=1-7"));
  EXPECT_EQ(sets.status().code(), Code::invalid_argument);
  EXPECT_THAT(sets.status().message(), HasSubstr("CPUs 0-3 only"));
}

TEST(CpuSets, SharesAreDisjointAndNothingIsLost) {
  Rng rng(1);
  for (int round = 0; round < 300; ++round) {
    const auto pick = [&](int most) {
      return 1 + static_cast<int>(rng.below(static_cast<std::uint64_t>(most)));
    };
    Topology topology = machine(pick(8), pick(12), pick(2));
    for (NumaNode& node : topology.nodes) {
      node.cores.resize(static_cast<std::size_t>(pick(static_cast<int>(node.cores.size()))));
    }
    const int ranks = pick(topology.cores());
    std::multiset<int> seen;
    std::size_t cores = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const auto mine = cores_of_rank(topology, rank, ranks);
      EXPECT_FALSE(mine.empty());
      cores += mine.size();
      for (const Cpus& core : mine) seen.insert(core.begin(), core.end());
    }
    EXPECT_EQ(static_cast<int>(cores), topology.cores());
    EXPECT_EQ(std::set<int>(seen.begin(), seen.end()).size(), seen.size());
  }
}

}  // namespace
}  // namespace unisono::affinity
