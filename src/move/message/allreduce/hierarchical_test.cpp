// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/data/text.hpp"
#include "base/testing/effort.hpp"
#include "move/testing/hosts.hpp"
#include "move/testing/oracle.hpp"

namespace unisono::move {
namespace {

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

// Of one allreduce: the same bits on all ranks, and the right ones.
void expect_one_result(Hosts& hosts, std::uint64_t bucket, DType dtype, ReduceOp op,
                       std::size_t count) {
  const std::size_t ranks = hosts.sets.size();
  const auto parts = random_parts(ranks, dtype, count, hosts.hub.rng());
  auto data = parts;
  std::vector<std::unique_ptr<CollectiveMachine>> machines;
  for (std::size_t i = 0; i < ranks; ++i) {
    machines.push_back(make_allreduce("hierarchical", hosts.context(i, bucket), dtype, op, data[i]));
  }
  hosts.run(machines);
  for (const auto& result : data) ASSERT_EQ(result, data[0]) << "ranks differ";
  if (order_matters(dtype, op)) {
    expect_rounded_once(dtype, op, parts, data[0]);
  } else {
    ASSERT_EQ(data[0], reduced_in_member_order(dtype, op, parts));
  }
}

// Every number of ranks that can be divided among hosts, up to 18.
TEST(HierarchicalContract, ForEveryHostCountDTypeAndOperator) {
  std::uint64_t seed = 100;
  for (int count_of_hosts = 2; count_of_hosts <= 9; ++count_of_hosts) {
    for (int each = 2; count_of_hosts * each <= 18; ++each) {
      Hosts hosts(count_of_hosts, each, ++seed);
      for (int dtype = 0; dtype < kDTypeCount; ++dtype) {
        const auto element = static_cast<DType>(dtype);
        const auto op = static_cast<ReduceOp>(seed % kElementwiseOpCount);
        for (const std::size_t count : {std::size_t{0}, std::size_t{5}, std::size_t{317},
                                        std::size_t{70'001}}) {
          if (count > 1000 && !has_time()) continue;
          SCOPED_TRACE(cat(count_of_hosts, "x", each, " ", name_of(element), " ", name_of(op), " ",
                           count, " seed ", ++seed));
          expect_one_result(hosts, seed, element, op, count);
          if (HasFailure()) return;
        }
        if (short_of_time()) break;
      }
    }
  }
}

// Hosts with unequal numbers of ranks, down to one.
TEST(HierarchicalContract, OnUnequalHostsForEveryDTypeAndOperator) {
  std::uint64_t seed = 900;
  for (const std::vector<int>& sizes : std::vector<std::vector<int>>{
           {2, 1}, {1, 2}, {3, 1}, {2, 3}, {4, 2, 1}, {1, 1, 3}, {7, 1}, {5, 4, 3}, {9, 8},
           {2, 1, 1, 1, 1, 1, 1, 1, 1, 1}}) {
    for (const bool dealt : {false, true}) {
      Hosts hosts(sizes, ++seed, dealt);
      const std::size_t ranks = hosts.sets.size();
      for (int dtype = 0; dtype < kDTypeCount; ++dtype) {
        const auto element = static_cast<DType>(dtype);
        const auto op = static_cast<ReduceOp>(seed % kElementwiseOpCount);
        // With and without a second chunk.
        for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{317},
                                        std::size_t{600'001}}) {
          const bool few = ranks < 8 && (element == DType::f32 || element == DType::bf16);
          if (count > 1000 && !has_time() && (!few || short_of_time())) continue;
          SCOPED_TRACE(cat(join_text(sizes), " ", name_of(element), " ", name_of(op), " ", count,
                           " seed ", ++seed));
          expect_one_result(hosts, seed, element, op, count);
          if (HasFailure()) return;
        }
      }
    }
  }
}

// Chunks follow each other through the same partials.
TEST(HierarchicalContract, LongBuffersOfShortFloats) {
  for (const auto& [count_of_hosts, each] : {std::pair{2, 2}, std::pair{9, 2}}) {
    Hosts hosts(count_of_hosts, each, 7);
    const std::size_t ranks = hosts.sets.size();
    const std::size_t count = count_of_hosts > 8 ? 2'200'001 : 5'000'003;
    if (count_of_hosts > 8 && short_of_time()) continue;
    const auto parts = random_parts(ranks, DType::bf16, count, hosts.hub.rng());
    auto data = parts;
    std::vector<std::unique_ptr<CollectiveMachine>> machines;
    for (std::size_t i = 0; i < ranks; ++i) {
      machines.push_back(make_allreduce("hierarchical", hosts.context(i, 1), DType::bf16,
                                        ReduceOp::sum, data[i]));
    }
    hosts.run(machines);
    for (const auto& result : data) ASSERT_EQ(result, data[0]) << "ranks differ";
    expect_rounded_once(DType::bf16, ReduceOp::sum, parts, data[0]);
  }
}

TEST(HierarchicalChoice, NeedsHostsAndEnoughData) {
  Hosts hosts(2, 2, 1);
  MoveContext context = hosts.context(0, 1);
  EXPECT_FALSE(runs_direct("auto", context, DType::f32, 1 << 20));
  EXPECT_FALSE(runs_direct("auto", context, DType::bf16, 1 << 20));
  EXPECT_TRUE(runs_direct("auto", context, DType::bf16, 1 << 10));
  EXPECT_TRUE(runs_direct("direct", context, DType::f32, 1 << 20));
  context.host = nullptr;
  EXPECT_TRUE(runs_direct("auto", context, DType::f32, 1 << 20));
  EXPECT_TRUE(runs_direct("hierarchical", context, DType::f32, 1 << 20));
}

}  // namespace
}  // namespace unisono::move
