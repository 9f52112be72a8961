// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Several buckets in flight at once, and several threads at one bucket.
#include <algorithm>
#include <atomic>
#include <tuple>

#include "base/data/rng.hpp"
#include "base/data/text.hpp"
#include "run/kinds/vote_flags.hpp"
#include "engine/testing/thread_ranks.hpp"

namespace unisono::engine {
namespace {

Options with_teams(std::int64_t teams, std::int64_t threads) {
  Options options;
  options.teams = teams;
  options.team_threads = threads;
  options.fusion_bytes = 64 << 10;          // many buckets
  return options;
}

class Teams : public testing::TestWithParam<std::pair<int, int>> {};
INSTANTIATE_TEST_SUITE_P(TeamsThreads, Teams,
                         testing::Values(std::pair(2, 1), std::pair(1, 3), std::pair(3, 2)));

TEST_P(Teams, MixedCollectivesInRandomOrderComeOutRight) {
  const auto [teams, threads] = GetParam();
  run_ranks(3, [](Engine& engine) {
    Rng rng(static_cast<std::uint64_t>(engine.rank()) + 5);
    const auto me = static_cast<float>(engine.rank());
    for (int step = 0; step < 20; ++step) {
      std::vector<std::vector<float>> tensors;
      std::vector<std::size_t> turn;
      for (std::size_t i = 0; i < 24; ++i) {
        tensors.emplace_back(std::size_t{37} << (i % 12), me + static_cast<float>(i));
        turn.push_back(i);
      }
      std::vector<float> copied(5000, me);
      for (std::size_t i = turn.size(); i > 1; --i) std::swap(turn[i - 1], turn[rng.below(i)]);
      std::vector<Ticket> tickets;
      for (const std::size_t i : turn) {
        tickets.push_back(engine.allreduce<float>(cat("t", i), tensors[i], {.op = ReduceOp::sum}));
      }
      tickets.push_back(engine.broadcast<float>("b", copied, 2));
      tickets.push_back(engine.barrier());
      for (const Ticket& ticket : tickets) ASSERT_TRUE(ticket.wait().ok());
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        for (const float value : tensors[i]) ASSERT_EQ(value, 3.0F + 3.0F * static_cast<float>(i));
      }
      for (const float value : copied) ASSERT_EQ(value, 2.0F);
    }
  }, with_teams(teams, threads));
}

// Tensors of two teams, planned and not: those of the second end while the first is held up by an
// emulated wire, and a team's own travel one after the other.
class NamedTeams : public testing::TestWithParam<std::tuple<const char*, int>> {};
INSTANTIATE_TEST_SUITE_P(OrdersHosts, NamedTeams,
                         testing::Combine(testing::Values("cache", "topo"), testing::Values(0, 1)));

TEST_P(NamedTeams, WhatNamesATeamTravelsInItsChannelAlone) {
  const auto [order, ranks_per_host] = GetParam();
  Options options;
  options.order = order;
  options.teams = 4;
  options.planner = "wfbp";
  options.emulate = "alpha=1ms";
  options.topo_patience_s = 30;
  run_ranks(2, [](Engine& engine) {
    const auto step = [&](int teams) {
      std::vector<std::vector<float>> data(6, std::vector<float>(500));
      std::vector<Ticket> tickets;
      for (std::size_t t = 0; t < data.size(); ++t) {
        data[t].assign(data[t].size(), static_cast<float>(engine.rank() + 1));
        const Settings settings{.op = ReduceOp::sum,
                                .team = 1 + static_cast<int>(t) % teams};
        tickets.push_back(engine.allreduce<float>(cat("t", t), data[t], settings));
      }
      for (std::size_t t = 0; t < data.size(); ++t) {
        ASSERT_TRUE(tickets[t].wait().ok());
        for (const float value : data[t]) ASSERT_EQ(value, 3.0F);
      }
    };
    for (int i = 0; i < 20; ++i) step(1);
    EXPECT_EQ(engine.stats().buckets_at_once, 1u);
    for (int i = 0; i < 20; ++i) step(2);
    EXPECT_EQ(engine.stats().buckets_at_once, 2u);
  }, options, ranks_per_host);
}

TEST(TeamMismatch, RanksThatNameDifferentTeamsAreTold) {
  Options options;
  options.teams = 2;
  run_ranks(2, [](Engine& engine) {
    std::vector<float> data(5, 1.0F);
    const Ticket ticket = engine.allreduce<float>("x", data, {.team = engine.rank() + 1});
    const Status status = ticket.wait();
    EXPECT_EQ(status.code(), Code::mismatch);
    EXPECT_NE(status.to_string().find("Mismatched teams"), std::string::npos);
  }, options);
}

// 256 floats are too few to travel from and into the tensors, so that each bucket has a buffer.
std::uint64_t buffers_allocated(std::int64_t buffer_bytes, const char* order) {
  Options options;
  options.teams = 3;
  options.order = order;
  options.planner = "wfbp";
  options.buffer_bytes = buffer_bytes;
  std::atomic<std::uint64_t> most = 0;
  run_ranks(2, [&](Engine& engine) {
    std::vector<std::vector<float>> data(7, std::vector<float>(256));
    const auto step = [&] {
      std::vector<Ticket> tickets;
      for (std::size_t t = 0; t < data.size(); ++t) {
        data[t].assign(data[t].size(), 1.0F);
        tickets.push_back(engine.allreduce<float>(cat("t", t), data[t], {.op = ReduceOp::sum}));
      }
      for (std::size_t t = 0; t < data.size(); ++t) {
        ASSERT_TRUE(tickets[t].wait().ok());
        ASSERT_EQ(data[t], std::vector<float>(256, 2.0F));
      }
    };
    for (int i = 0; i < 30; ++i) step();
    EXPECT_GE(engine.stats().buffer_bytes, static_cast<std::uint64_t>(3 * buffer_bytes));
    most = std::max(most.load(), engine.stats().buffers_allocated);
  }, options, 1);
  return most;
}

TEST(TeamBuffers, NothingIsAllocatedOnTheWayWhereTheHintIsLargeEnough) {
  for (const char* order : {"cache", "topo"}) EXPECT_EQ(buffers_allocated(4096, order), 0u) << order;
}

TEST(TeamBuffers, WithoutAHintOrWithOneTooSmallTheFirstBucketsAllocate) {
  EXPECT_GT(buffers_allocated(0, "topo"), 0u);
  EXPECT_LE(buffers_allocated(0, "topo"), 3u);
}

TEST(VoteFlags, AnyMembersWordIsHeardThroughEveryReduction) {
  for (const DType dtype :
       {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i32, DType::u8}) {
    for (const ReduceOp op :
         {ReduceOp::sum, ReduceOp::average, ReduceOp::min, ReduceOp::max, ReduceOp::product}) {
      for (int a = 0; a < 4; ++a) {
        for (int b = 0; b < 4; ++b) {
          alignas(8) std::byte first[24], second[24];
          run::put_vote(static_cast<PlanVote>(a), dtype, op, first);
          run::put_vote(static_cast<PlanVote>(b), dtype, op, second);
          kernels::reduce(dtype, op, first, second, run::kVoteFlags);
          EXPECT_EQ(static_cast<int>(run::get_vote(dtype, op, first)), std::max(a, b))
              << name_of(dtype) << " " << name_of(op);
        }
      }
    }
  }
}

}  // namespace
}  // namespace unisono::engine
