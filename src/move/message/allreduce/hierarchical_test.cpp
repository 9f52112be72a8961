// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <numeric>

#include "base/data/text.hpp"
#include "base/testing/effort.hpp"
#include "move/host_team.hpp"
#include "move/local/testing/local_test_host.hpp"
#include "move/testing/fake_transport.hpp"

namespace unisono::move {
namespace {

// Ranks on several hosts: messages between all, shared memory within each.
struct Hosts {
  Hosts(int hosts, int each, std::uint64_t seed) : hub(hosts * each, seed), each_(each) {
    std::vector<Rank> ranks(static_cast<std::size_t>(hosts * each));
    std::iota(ranks.begin(), ranks.end(), 0);
    for (int host = 0; host < hosts; ++host) {
      local.push_back(std::make_unique<LocalTestHost>(each, seed));
    }
    sets.reserve(ranks.size());
    teams.reserve(ranks.size());
    for (const Rank rank : ranks) {
      sets.push_back(Members::of(ranks, rank));
      auto groups = arena::group_by_host(sets.back(),
                                  [&](Rank a, Rank b) { return a / each == b / each; });
      teams.push_back({std::move(*groups), local[static_cast<std::size_t>(rank / each)]->make_team(
                                               rank % each, 3)});
    }
  }
  MoveContext context(std::size_t rank, std::uint64_t bucket) {
    return {.transport = &hub.at(static_cast<Rank>(rank)), .members = &sets[rank], .set = 0,
            .bucket = bucket, .identity = 77 + 1000 * bucket, .host = &teams[rank]};
  }
  // Steps machines and moves messages in random order until all have finished.
  void run(std::vector<std::unique_ptr<CollectiveMachine>>& machines) {
    Rng& rng = hub.rng();
    std::vector<bool> over(machines.size(), false);
    for (std::size_t idle = 0; idle < 1000;) {
      bool moved = false;
      for (std::size_t i = 0; i < machines.size(); ++i) {
        if (over[i] || rng.below(3) == 0) continue;
        const Step step = machines[i]->step();
        moved = moved || step != Step::waiting;
        over[i] = step == Step::finished;
      }
      for (std::uint64_t k = rng.below(12); k > 0 && hub.pump(); --k) moved = true;
      if (!moved && std::count(over.begin(), over.end(), false) == 0) return;
      idle = moved ? 0 : idle + 1;
    }
    for (const auto& machine : machines) ADD_FAILURE() << "stuck: " << machine->describe();
  }

  FakeHub hub;
  std::vector<std::unique_ptr<LocalTestHost>> local;
  std::vector<Members> sets;
  std::vector<HostTeam> teams;
  int each_;
};

class Hierarchical : public testing::TestWithParam<std::pair<int, int>> {};
INSTANTIATE_TEST_SUITE_P(HostsAndRanks, Hierarchical,
                         testing::Values(std::pair{2, 2}, std::pair{2, 4}, std::pair{3, 2},
                                         std::pair{4, 3}, std::pair{9, 2}),
                         [](const auto& which) {
                           return cat(which.param.first, "x", which.param.second);
                         });

TEST_P(Hierarchical, GivesEveryRankTheSum) {
  const auto [count_of_hosts, each] = GetParam();
  constexpr std::size_t kChunkElements = 1 << 18;  // of 4 bytes, with few hosts
  std::uint64_t seed = 1;
  Hosts hosts(count_of_hosts, each, 5);
  // Several operations on the same teams, as an engine has them.
  for (const DType dtype : {DType::f32, DType::i32, DType::f64, DType::bf16}) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{1001}, kChunkElements + 3,
                                    4 * kChunkElements}) {
      if (count > 2000 && (dtype != DType::f32 || count_of_hosts > 4)) continue;
      if (count > 2 * kChunkElements && short_of_time()) continue;
      SCOPED_TRACE(cat(name_of(dtype), " ", count));
      const std::size_t ranks = hosts.sets.size();
      std::vector<Bytes> inputs;
      for (std::size_t i = 0; i < ranks; ++i) {
        inputs.push_back(filled(dtype, count, hosts.hub.rng()));
      }
      std::vector<Bytes> data = inputs;
      std::vector<std::unique_ptr<CollectiveMachine>> machines;
      ++seed;
      for (std::size_t i = 0; i < ranks; ++i) {
        machines.push_back(make_allreduce("hierarchical", hosts.context(i, seed), dtype,
                                          ReduceOp::sum, data[i]));
      }
      hosts.run(machines);
      const Bytes sum = expected(dtype, ReduceOp::sum, inputs, count);
      for (std::size_t i = 0; i < ranks; ++i) ASSERT_EQ(data[i], sum) << "rank " << i;
      if (HasFailure()) return;
    }
  }
}

TEST(HierarchicalChoice, NeedsHostsAndEnoughData) {
  Hosts hosts(2, 2, 1);
  MoveContext context = hosts.context(0, 1);
  EXPECT_FALSE(runs_direct("auto", context, DType::f32, 1 << 20));
  EXPECT_TRUE(runs_direct("auto", context, DType::bf16, 1 << 20));
  EXPECT_TRUE(runs_direct("direct", context, DType::f32, 1 << 20));
  context.host = nullptr;
  EXPECT_TRUE(runs_direct("auto", context, DType::f32, 1 << 20));
  EXPECT_TRUE(runs_direct("hierarchical", context, DType::f32, 1 << 20));
}

}  // namespace
}  // namespace unisono::move
