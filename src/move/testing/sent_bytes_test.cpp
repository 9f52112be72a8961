// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the closed forms of cost/ say about bytes is what the machines send.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/data/text.hpp"
#include "cost/algorithms.hpp"
#include "move/algorithms.hpp"
#include "move/testing/hosts.hpp"
#include "move/testing/oracle.hpp"

namespace unisono::move {
namespace {

// Members of a hub that run one collective; returns the bytes that were sent in all.
struct CountedRun {
  explicit CountedRun(int n) : hub(n, 11), ranks(static_cast<std::size_t>(n)) {
    std::iota(ranks.begin(), ranks.end(), 0);
    sets.reserve(ranks.size());
    for (const Rank rank : ranks) sets.push_back(Members::of(ranks, rank));
  }

  template <typename Make>
  std::uint64_t sent(Make make) {
    std::vector<std::unique_ptr<CollectiveMachine>> machines;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      machines.push_back(make(
          i, MoveContext{.transport = &hub.at(ranks[i]), .members = &sets[i], .set = 0,
                         .bucket = 3, .identity = 5}));
    }
    return sent_by(hub, machines);
  }

  static std::uint64_t sent_by(FakeHub& hub,
                               std::vector<std::unique_ptr<CollectiveMachine>>& machines) {
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
  std::vector<Members> sets;
};

// The same of members on hosts.
struct CountedHosts {
  explicit CountedHosts(const std::vector<int>& sizes) : hosts(sizes, 11) {
    layout = {.n = hosts.hub.size(), .hosts = static_cast<int>(sizes.size()),
              .each = *std::ranges::max_element(sizes),
              .least = *std::ranges::min_element(sizes)};
    for (const int size : sizes) layout.apart += size * (layout.n - size);
  }
  template <typename Make>
  std::uint64_t sent(Make make) {
    std::vector<std::unique_ptr<CollectiveMachine>> machines;
    for (std::size_t i = 0; i < n(); ++i) machines.push_back(make(i, hosts.context(i, 3)));
    return CountedRun::sent_by(hosts.hub, machines);
  }
  std::size_t n() const { return hosts.sets.size(); }

  Hosts hosts;
  cost::Layout layout;
};
const std::vector<std::vector<int>> kCounted = {{2, 2}, {4, 4},    {3, 3, 3}, {2, 1},
                                                {1, 3}, {4, 2, 1}, {1, 1, 5}};

TEST(SentBytes, OfEveryAllreduceAreThoseOfItsClosedForm) {
  for (int n = 2; n <= 9; ++n) {
    for (const AlgorithmRow& row : algorithm_table()) {
      if (row.kind != Collective::allreduce || row.by != MovesBy::messages) continue;
      if (row.name == "hierarchical") continue;
      for (const std::size_t elements : {std::size_t{1}, std::size_t{1003}, std::size_t{200'001}}) {
        SCOPED_TRACE(cat(row.name, " n ", n, " elements ", elements));
        CountedRun run(n);
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
  for (const auto& sizes : kCounted) {
    SCOPED_TRACE(join_text(sizes));
    CountedHosts run(sizes);
    std::vector<std::vector<float>> data(run.n(), std::vector<float>(4099, 1));
    const std::uint64_t sent = run.sent([&](std::size_t i, MoveContext context) {
      return make_allreduce("hierarchical", context, DType::f32, ReduceOp::sum,
                            std::as_writable_bytes(std::span(data[i])));
    });
    EXPECT_EQ(sent, cost::sent_by_allreduce("hierarchical", run.layout, 4099 * 4));
  }
}

TEST(SentBytes, OfPartsInAHierarchyAreThoseBetweenHosts) {
  for (const auto& sizes : kCounted) {
    SCOPED_TRACE(join_text(sizes));
    constexpr std::size_t kEach = 160'000;
    const std::size_t n = CountedHosts(sizes).n(), all = n * kEach;
    const Extents counts(n, kEach), totals(n, all);
    std::vector<Buffer> in(n, Buffer(all)), out(n, Buffer(all));
    CountedHosts gather(sizes), scatter(sizes), exchange(sizes), spread(sizes);
    EXPECT_EQ(spread.sent([&](std::size_t i, MoveContext context) {
      return make_broadcast(context, 0, in[i], "hierarchical");
    }),
              cost::sent_by_broadcast("hierarchical", spread.layout, all));
    EXPECT_EQ(gather.sent([&](std::size_t i, MoveContext context) {
      return make_allgather(context, std::span(in[i]).first(kEach), counts, out[i]);
    }),
              cost::sent_by_allgather("hierarchical", gather.layout, all));
    EXPECT_EQ(scatter.sent([&](std::size_t i, MoveContext context) {
      return make_reducescatter(context, DType::f32, ReduceOp::sum, in[i], counts,
                                std::span(out[i]).first(kEach), "hierarchical");
    }),
              cost::sent_by_reducescatter("hierarchical", scatter.layout, all));
    EXPECT_EQ(exchange.sent([&](std::size_t i, MoveContext context) {
      return make_alltoall(context, {in[i], counts, out[i], counts, totals}, "hierarchical");
    }),
              cost::sent_by_alltoall("hierarchical", exchange.layout, all));
  }
}

TEST(SentBytes, OfFlatPartsAreThoseOfTheirClosedForms) {
  for (int n = 2; n <= 9; ++n) {
    SCOPED_TRACE(n);
    const auto members = static_cast<std::size_t>(n);
    constexpr std::size_t kEach = 16'000;
    const std::size_t all = members * kEach;
    const Extents counts(members, kEach);
    std::vector<Buffer> in(members, Buffer(all)), out(members, Buffer(all));
    const auto scattered = [&](auto make) {
      return CountedRun(n).sent([&](std::size_t i, MoveContext context) {
        return make(context, DType::f32, ReduceOp::sum, in[i], counts,
                    std::span(out[i]).first(kEach));
      });
    };
    const cost::Layout layout{.n = n};
    EXPECT_EQ(scattered(make_reducescatter_direct),
              cost::sent_by_reducescatter("direct", layout, all));
    EXPECT_EQ(scattered(make_reducescatter_halving),
              cost::sent_by_reducescatter("halving", layout, all));
    EXPECT_EQ(scattered(make_reducescatter_ring), cost::sent_by_reducescatter("ring", layout, all));
    EXPECT_EQ(CountedRun(n).sent([&](std::size_t i, MoveContext context) {
      return make_alltoall(context, {in[i], counts, out[i], counts});
    }),
              cost::sent_by_alltoall("pairwise", layout, all));
  }
}

TEST(SentBytes, OfAnAllgatherAreThoseOfItsClosedForm) {
  for (int n = 2; n <= 9; ++n) {
    CountedRun run(n);
    const Extents counts(run.ranks.size(), 16'000);
    const std::size_t all = counts.size() * 16'000;
    std::vector<std::vector<std::byte>> mine(counts.size(), std::vector<std::byte>(16'000)),
        out(counts.size(), std::vector<std::byte>(all));
    const std::uint64_t sent = run.sent([&](std::size_t i, MoveContext context) {
      return make_allgather(context, mine[i], counts, out[i]);
    });
    EXPECT_EQ(CountedRun(n).sent([&](std::size_t i, MoveContext context) {
      return make_broadcast(context, n / 2, out[i]);
    }),
              cost::sent_by_broadcast("tree", {.n = n}, all));
    // The two algorithms send alike.
    EXPECT_EQ(sent, cost::sent_by_allgather("ring", {.n = n}, all));
    EXPECT_EQ(sent, cost::sent_by_allgather("direct", {.n = n}, all));
  }
}

}  // namespace
}  // namespace unisono::move
