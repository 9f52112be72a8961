// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the closed forms of cost/ say about bytes is what the machines send.
#include <gtest/gtest.h>

#include <numeric>

#include "base/data/text.hpp"
#include "cost/algorithms.hpp"
#include "move/collective.hpp"
#include "move/host_team.hpp"
#include "move/local/testing/local_test_host.hpp"
#include "move/testing/fake_transport.hpp"

namespace unisono::move {
namespace {

// Members of a hub that run one collective; returns the bytes that were sent in all.
struct CountedRun {
  CountedRun(int hosts, int each)
      : hub(hosts * each, 11), ranks(static_cast<std::size_t>(hosts * each)) {
    std::iota(ranks.begin(), ranks.end(), 0);
    for (int host = 0; host < hosts && hosts > 1; ++host) {
      local.push_back(std::make_unique<LocalTestHost>(each, 7));
    }
    sets.reserve(ranks.size());
    teams.resize(ranks.size());
    for (const Rank rank : ranks) {
      sets.push_back(Members::of(ranks, rank));
      auto groups = arena::group_by_host(
          sets.back(), [&](Rank a, Rank b) { return a / each == b / each; });
      if (!groups) continue;
      const auto host = static_cast<std::size_t>(rank / each);
      teams[static_cast<std::size_t>(rank)] = std::make_unique<HostTeam>(
          HostTeam{std::move(*groups), local[host]->make_team(rank % each, 3)});
    }
  }

  template <typename Make>
  std::uint64_t sent(Make make) {
    std::vector<std::unique_ptr<CollectiveMachine>> machines;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      machines.push_back(make(
          i, MoveContext{.transport = &hub.at(ranks[i]), .members = &sets[i], .set = 0,
                         .bucket = 3, .identity = 5, .host = teams[i].get()}));
    }
    std::size_t finished = 0;
    for (int turn = 0; turn < 100'000 && finished < machines.size(); ++turn) {
      finished = 0;
      for (const auto& machine : machines) finished += machine->step() == Step::finished ? 1 : 0;
      while (hub.pump()) {
      }
    }
    EXPECT_EQ(finished, machines.size());
    return hub.bytes();
  }

  FakeHub hub;
  std::vector<Rank> ranks;
  std::vector<std::unique_ptr<LocalTestHost>> local;
  std::vector<Members> sets;
  std::vector<std::unique_ptr<HostTeam>> teams;
};

TEST(SentBytes, OfEveryAllreduceAreThoseOfItsClosedForm) {
  for (int n = 2; n <= 9; ++n) {
    for (const AlgorithmRow& row : algorithm_table()) {
      if (row.kind != Collective::allreduce || row.by != MovesBy::messages) continue;
      if (row.name == "hierarchical") continue;
      for (const std::size_t elements : {std::size_t{1}, std::size_t{1003}, std::size_t{200'001}}) {
        SCOPED_TRACE(cat(row.name, " n ", n, " elements ", elements));
        CountedRun run(1, n);
        std::vector<std::vector<float>> data(run.ranks.size(), std::vector<float>(elements, 1));
        const std::uint64_t sent = run.sent([&](std::size_t i, MoveContext context) {
          return make_allreduce(row.name, context, DType::f32, ReduceOp::sum,
                                std::as_writable_bytes(std::span(data[i])));
        });
        EXPECT_EQ(sent, cost::sent_by_allreduce(row.name, {.n = n, .each = n}, elements * 4));
      }
    }
  }
}

TEST(SentBytes, OfAHierarchyAreThoseBetweenHosts) {
  for (const auto& [hosts, each] : {std::pair{2, 2}, std::pair{2, 4}, std::pair{3, 3}}) {
    SCOPED_TRACE(cat(hosts, " x ", each));
    CountedRun run(hosts, each);
    std::vector<std::vector<float>> data(run.ranks.size(), std::vector<float>(4099, 1));
    const std::uint64_t sent = run.sent([&](std::size_t i, MoveContext context) {
      return make_allreduce("hierarchical", context, DType::f32, ReduceOp::sum,
                            std::as_writable_bytes(std::span(data[i])));
    });
    const cost::Layout layout{.n = hosts * each, .hosts = hosts, .each = each};
    EXPECT_EQ(sent, cost::sent_by_allreduce("hierarchical", layout, 4099 * 4));
  }
}

TEST(SentBytes, OfAnAllgatherAreThoseOfItsClosedForm) {
  for (int n = 2; n <= 9; ++n) {
    CountedRun run(1, n);
    const Extents counts(run.ranks.size(), 16'000);
    const std::size_t all = counts.size() * 16'000;
    std::vector<std::vector<std::byte>> mine(counts.size(), std::vector<std::byte>(16'000)),
        out(counts.size(), std::vector<std::byte>(all));
    const std::uint64_t sent = run.sent([&](std::size_t i, MoveContext context) {
      return make_allgather(context, mine[i], counts, out[i]);
    });
    // The two algorithms send alike.
    EXPECT_EQ(sent, cost::sent_by_allgather("ring", {.n = n}, all));
    EXPECT_EQ(sent, cost::sent_by_allgather("direct", {.n = n}, all));
  }
}

}  // namespace
}  // namespace unisono::move
