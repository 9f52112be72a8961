// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Alltoall with rows divided in every way, over shared memory and over messages: same shapes with
// other splits, equal parts on some members and uneven ones on others, groups, nothing at all.
#include <cstring>

#include "base/data/rng.hpp"
#include "base/data/text.hpp"
#include "engine/testing/thread_ranks.hpp"

namespace unisono::engine {
namespace {

using Rows = std::vector<std::int64_t>;

// How many rows `from` sends to `to` in a round; the same on every rank.
struct Division {
  std::uint64_t seed;
  int n;
  Rows of(int from) const {
    Rng rng(seed * 977 + static_cast<std::uint64_t>(from));
    Rows splits(static_cast<std::size_t>(n));
    const auto way = rng.below(4);
    for (auto& rows : splits) {
      rows = way == 0 ? 3 : way == 1 ? 0 : static_cast<std::int64_t>(rng.below(way == 2 ? 7 : 400));
    }
    return splits;
  }
};

float value(int from, int to, std::int64_t row) {
  return static_cast<float>(from * 1'000'000 + to * 10'000 + row % 10'000);
}

class AlltoallLive : public testing::TestWithParam<std::tuple<int, const char*, const char*>> {};
INSTANTIATE_TEST_SUITE_P(Ways, AlltoallLive,
                         testing::Combine(testing::Values(1, 2, 3, 5),
                                          testing::Values("auto", "tcp"),
                                          testing::Values("coordinator", "cache", "topo", "program")));

TEST_P(AlltoallLive, EveryRowArrivesWhereItBelongs) {
  const auto [ranks, transport, order] = GetParam();
  Options options;
  options.transport = transport;
  options.order = order;
  run_ranks(ranks, [](Engine& engine) {
    const int n = engine.size(), me = engine.rank();
    for (std::uint64_t round = 0; round < 25; ++round) {
      const Division division{round, n};
      const Rows mine = division.of(me);
      std::vector<float> rows;
      for (int to = 0; to < n; ++to) {
        for (std::int64_t row = 0; row < mine[static_cast<std::size_t>(to)]; ++row) {
          rows.push_back(value(me, to, row));
        }
      }
      const Ticket ticket = engine.alltoall<float>("x", rows, {.splits = mine});
      ASSERT_TRUE(ticket.wait().ok()) << ticket.wait().to_string();
      Rows expected_splits;
      std::vector<float> expected;
      for (int from = 0; from < n; ++from) {
        expected_splits.push_back(division.of(from)[static_cast<std::size_t>(me)]);
        for (std::int64_t row = 0; row < expected_splits.back(); ++row) {
          expected.push_back(value(from, me, row));
        }
      }
      const Output output = ticket.output();
      EXPECT_EQ(output.splits, expected_splits) << "round " << round;
      EXPECT_EQ(output.shape, (Shape{static_cast<std::int64_t>(expected.size())}));
      std::vector<float> received(output.bytes.size() / sizeof(float));
      if (!received.empty()) std::memcpy(received.data(), output.bytes.data(), output.bytes.size());
      EXPECT_EQ(received, expected) << "round " << round;
    }
  }, options);
}

TEST(AlltoallSplits, OtherSplitsOfTheSameRowsAreAnsweredFromTheCache) {
  Options options;
  options.order = "cache";
  run_ranks(2, [](Engine& engine) {
    const std::vector<float> rows(10, 1.0f);
    const auto exchange = [&](std::int64_t first) {
      const Ticket ticket = engine.alltoall<float>("x", rows, {.splits = {first, 10 - first}});
      ASSERT_TRUE(ticket.wait().ok());
      EXPECT_EQ(ticket.output().splits, engine.rank() == 0 ? (Rows{first, first})
                                                           : (Rows{10 - first, 10 - first}));
    };
    exchange(1);
    const std::uint64_t misses = engine.stats().cache_misses;
    for (const std::int64_t first : {2, 3, 9, 10, 0, 4}) exchange(first);
    EXPECT_EQ(engine.stats().cache_misses, misses);
  }, options);
}

TEST(AlltoallSplits, EvenAndUnevenOnesTravelSideBySide) {
  for (const char* transport : {"auto", "tcp"}) {
    Options options;
    options.transport = transport;
    run_ranks(3, [](Engine& engine) {
      const auto me = static_cast<std::int64_t>(engine.rank());
      const std::vector<float> even(9, static_cast<float>(me)), uneven(6, static_cast<float>(me));
      const auto operation = [](const char* name, const std::vector<float>& rows) {
        return Operation{.kind = Collective::alltoall, .name = name,
                         .shape = {static_cast<std::int64_t>(rows.size())}, .input = rows.data()};
      };
      for (int i = 0; i < 5; ++i) {
        const Ticket a = engine.submit(operation("even", even));
        const Ticket b = engine.submit(operation("uneven", uneven), {.splits = {1, 2, 3}});
        const Ticket c = engine.submit(operation("mixed", uneven),
                                       me == 1 ? Settings{.splits = {4, 1, 1}} : Settings{});
        ASSERT_TRUE(a.wait().ok() && b.wait().ok() && c.wait().ok());
        EXPECT_EQ(a.output().splits, (Rows{3, 3, 3}));
        EXPECT_EQ(b.output().splits, (Rows{me + 1, me + 1, me + 1}));
        EXPECT_EQ(c.output().splits, (Rows{2, me == 0 ? 4 : 1, 2}));
      }
    }, options);
  }
}

}  // namespace
}  // namespace unisono::engine
