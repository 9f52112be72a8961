// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Every exchange of the registry: the same sums, whoever adds them.
#include "opt/exchange/exchange.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "opt/exchange/registry.hpp"
#include "opt/job/random.hpp"
#include "opt/testing/ranks.hpp"

namespace unisono::opt {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kLength = 1000;

// What a rank gives in a step: small whole numbers, so that sums are exact. In some steps nothing.
struct Gift {
  std::vector<std::uint32_t> indices;
  std::vector<float> values;
};
Gift gift_of(int rank, int step) {
  Random random(mixed(static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(step)));
  Gift gift;
  const std::uint64_t gap = step == 2 ? 1 : 2 + random.below(90);
  if (step == 1 || (step == 3 && rank == 0)) return gift;
  for (std::uint64_t at = random.below(gap); at < kLength; at += 1 + random.below(gap)) {
    gift.indices.push_back(static_cast<std::uint32_t>(at));
    gift.values.push_back(static_cast<float>(random.below(9)) - 4);
  }
  return gift;
}

std::vector<float> as_dense(const Total& total) {
  if (total.dense) return {total.values.begin(), total.values.end()};
  std::vector<float> all(kLength);
  for (std::size_t i = 0; i < total.indices.size(); ++i) {
    if (i > 0) {
      EXPECT_LT(total.indices[i - 1], total.indices[i]);
    }
    all[total.indices[i]] = total.values[i];
  }
  return all;
}

class EveryExchange : public testing::TestWithParam<ExchangeRow> {};

TEST_P(EveryExchange, GivesTheSumsOnEveryRank) {
  for (const int ranks : {1, 2, 3, 5}) {
    run_ranks(ranks, [&](Engine& engine) {
      const auto exchange = GetParam().make(engine, kLength);
      EXPECT_EQ(exchange->name(), GetParam().name);
      for (int step = 0; step < 5; ++step) {
        std::vector<float> expected(kLength);
        for (int rank = 0; rank < ranks; ++rank) {
          const Gift gift = gift_of(rank, step);
          for (std::size_t i = 0; i < gift.indices.size(); ++i) {
            expected[gift.indices[i]] += gift.values[i];
          }
        }
        const Gift mine = gift_of(engine.rank(), step);
        ASSERT_TRUE(exchange->begin({mine.indices, mine.values}).ok());
        auto total = exchange->end();
        ASSERT_TRUE(total.ok()) << total.status().message();
        EXPECT_EQ(as_dense(*total), expected) << "step " << step;
      }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryExchange,
                         testing::ValuesIn(exchange_rows().begin(), exchange_rows().end()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(ExchangeByName, AutoTakesTheOneWithTheFewestBytes) {
  EXPECT_EQ(cheapest_exchange(2, 3'000'000, 50'000), "allgather");
  EXPECT_EQ(cheapest_exchange(8, 3'000'000, 50'000), "sparse");
  EXPECT_EQ(cheapest_exchange(64, 3'000'000, 50'000), "sparse");
  EXPECT_EQ(cheapest_exchange(8, 1000, 900), "dense");
  EXPECT_EQ(cheapest_exchange(2, 1000, 900), "dense");
  EXPECT_EQ(cheapest_exchange(1, 1000, 1000), "allgather");
}

TEST(ExchangeByName, AnUnknownNameIsRefusedWithThoseThereAre) {
  run_ranks(1, [](Engine& engine) {
    const auto none = make_exchange(engine, "tree", 10, 1);
    ASSERT_FALSE(none.ok());
    EXPECT_THAT(none.status().message(), HasSubstr("one of auto, dense, allgather"));
    EXPECT_EQ(make_exchange(engine, "auto", 10, 1).value()->name(), "allgather");
  });
}

}  // namespace
}  // namespace unisono::opt
