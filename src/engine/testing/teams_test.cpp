// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Several buckets in flight at once, and several threads at one bucket.
#include <algorithm>

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
