// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/select/trial_machine.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "base/testing/effort.hpp"
#include "move/testing/fake_transport.hpp"

namespace unisono::run {
namespace {

// One member with a clock of its own, as hosts have.
struct TrialMember {
  Options options;
  cost::Network network;
  Members members;
  RememberedChoices remembered;
  Explanations explanations;
  ManualClock clock;
  std::unique_ptr<Selector> selector;
  std::vector<float> data = std::vector<float>(1000, 1);
  std::unique_ptr<move::CollectiveMachine> machine;
  bool over = false;
};

// Every member of every trial comes as late as the test says, and time passes for all alike.
void run_trial(std::vector<std::unique_ptr<TrialMember>>& all, std::uint64_t bucket,
               const std::vector<int>& late) {
  const int n = static_cast<int>(all.size());
  move::FakeHub hub(n, bucket);
  for (auto& each : all) each->over = false, each->machine.reset();
  for (int turn = 0; turn < 20'000; ++turn) {
    bool over = true;
    for (int i = 0; i < n; ++i) {
      TrialMember& member = *all[static_cast<std::size_t>(i)];
      member.clock.advance(Nanos(1000));
      if (turn < late[static_cast<std::size_t>(i)]) {
        over = false;
        continue;
      }
      const auto context = [&](std::uint64_t number) {
        return move::MoveContext{.transport = &hub.at(i), .members = &member.members,
                                 .bucket = 16 * bucket + number};
      };
      if (member.machine == nullptr) {
        const Choice choice =
            member.selector->choose({.bytes = 4 * member.data.size()}, member.clock.now());
        ASSERT_TRUE(choice.trial);
        member.machine = make_trial_machine(
            move::make_allreduce(choice.algorithm, context(0), DType::f32, ReduceOp::sum,
                                 std::as_writable_bytes(std::span(member.data))),
            {context(1), context(2), context(3), context(4), context(5), context(6), context(7)},
            {member.selector.get(), choice, &member.clock});
      }
      if (!member.over) member.over = member.machine->step() == move::Step::finished;
      over = over && member.over;
    }
    while (hub.pump()) {
    }
    if (over) return;
  }
  FAIL() << "a trial never ended: " << all.front()->machine->describe();
}

TEST(TrialMachine, MembersLearnTheSameAndWaitingForALateOneDoesNotCount) {
  for (int n = 2; n <= (short_of_time() ? 3 : 6); ++n) {
    std::vector<std::unique_ptr<TrialMember>> all;
    std::vector<Rank> ranks(static_cast<std::size_t>(n));
    std::iota(ranks.begin(), ranks.end(), 0);
    for (const Rank rank : ranks) {
      auto& member = *all.emplace_back(std::make_unique<TrialMember>());
      member.network.usable = true;
      member.network.costs = cost::typical_costs();
      member.members = Members::of(ranks, rank);
      member.clock.advance(Nanos(1'000'000) * rank);
      member.selector = std::make_unique<Selector>(SelectorParts{
          .options = &member.options, .network = &member.network, .members = &member.members,
          .remembered = &member.remembered, .explanations = &member.explanations});
    }
    std::uint64_t bucket = 0;
    while (all[0]->selector->choose({.bytes = 4000}, Time{}).trial) {
      std::vector<int> late(all.size(), 0);
      late[bucket % late.size()] = 5000;
      run_trial(all, ++bucket, late);
      if (HasFatalFailure()) return;
      ASSERT_LT(bucket, 40u);
    }
    const AlgorithmChoice first = all[0]->explanations.all().at(0);
    for (const AlgorithmTrial& trial : first.candidates) {
      EXPECT_GT(trial.measured_us, 0);
      EXPECT_LT(trial.measured_us, 5000) << trial.algorithm;
    }
    for (const auto& member : all) {
      const AlgorithmChoice other = member->explanations.all().at(0);
      EXPECT_EQ(other.algorithm, first.algorithm);
      for (std::size_t i = 0; i < first.candidates.size(); ++i) {
        EXPECT_EQ(other.candidates[i].measured_us, first.candidates[i].measured_us);
      }
    }
  }
}

}  // namespace
}  // namespace unisono::run
