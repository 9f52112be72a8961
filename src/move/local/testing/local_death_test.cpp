// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What a local allreduce leaves behind when a member stops, at every point where it can, and when a
// member goes into a planned one with nothing.
#include "move/local/testing/local_test_host.hpp"
#include "base/testing/effort.hpp"

namespace unisono::move {
namespace {

constexpr std::size_t kCount = 2'700'001;   // many chunks per slice, an odd end

struct Deal {
  std::vector<Bytes> inputs, outputs;
  Bytes want;
};

Deal deal(int n, Rng& rng) {
  Deal d;
  for (int i = 0; i < n; ++i) d.inputs.push_back(filled(DType::f32, kCount, rng));
  d.want = expected(DType::f32, ReduceOp::sum, d.inputs, kCount);
  d.outputs.assign(static_cast<std::size_t>(n), Bytes(kCount * 4, std::byte(0x5a)));
  return d;
}

// In place on even members, elsewhere on odd ones.
LocalReduction work_of(Deal& d, int member) {
  const auto index = static_cast<std::size_t>(member);
  Bytes& out = member % 2 == 0 ? d.inputs[index] : d.outputs[index];
  return {.items = {{d.inputs[index].data(), out.data(), 0, kCount * 4}}, .bytes = kCount * 4};
}

class LocalDeath : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Members, LocalDeath, testing::Values(2, 3, 5));

TEST_P(LocalDeath, AllSurvivorsHaveTheWholeResultOrAllAnError) {
  const int n = GetParam();
  int whole = 0, failed = 0, early = 0;
  for (int lived = 0; lived < 60; lived += (n == 2 ? 3 : 7) * (short_of_time() ? 2 : 1)) {
    LocalTestHost host(n, 100 + static_cast<std::uint64_t>(lived));
    Deal d = deal(n, host.rng());
    const Deal untouched = d;
    std::vector<std::unique_ptr<LocalCollective>> machines;
    for (int i = 0; i < n; ++i)
      machines.push_back(make_local_allreduce(host.team(i), work_of(d, i)));
    const int victim = lived % n;
    int steps_left = lived;
    for (int round = 0; round < 4000; ++round) {
      const int pick = static_cast<int>(host.rng().below(static_cast<std::uint64_t>(n)));
      auto& machine = machines[static_cast<std::size_t>(pick)];
      if (machine == nullptr || (pick == victim && steps_left-- <= 0)) continue;
      if (machine->step() == Step::finished) machine.reset();
    }
    int survivors_whole = 0;
    for (int i = 0; i < n; ++i) {
      if (i == victim) continue;
      const auto index = static_cast<std::size_t>(i);
      const Bytes& out = i % 2 == 0 ? d.inputs[index] : d.outputs[index];
      const Bytes& old = i % 2 == 0 ? untouched.inputs[index] : untouched.outputs[index];
      if (i % 2 == 1) {
        ASSERT_TRUE(d.inputs[index] == untouched.inputs[index]);
      }
      if (auto& machine = machines[index]) {
        ASSERT_FALSE(machine->committed());
        // Whoever says that its outputs are as they were can be believed.
        if (machine->keeps_outputs()) {
          ASSERT_TRUE(out == old) << "member " << i << " after " << lived;
          ++early;
        }
        machine->undo();
      } else {
        ASSERT_TRUE(out == d.want) << "member " << i << " after " << lived;
        ++survivors_whole;
      }
    }
    ASSERT_TRUE(survivors_whole == 0 || survivors_whole == n - 1) << lived;
    (survivors_whole == 0 ? failed : whole) += 1;
  }
  EXPECT_GT(whole, 0);
  EXPECT_GT(failed, 0);
  EXPECT_GT(early, 0);
}

class LocalVote : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Counts, LocalVote, testing::Values(1, 100, 5000, 300'000));

TEST_P(LocalVote, AbortTouchesNothingAndRunThenStopTakesPart) {
  const std::size_t count = GetParam();
  for (const PlanVote vote : {PlanVote::run, PlanVote::run_then_stop, PlanVote::abort}) {
    LocalTestHost host(3, 7);
    std::vector<Bytes> inputs;
    for (int i = 0; i < 3; ++i) inputs.push_back(filled(DType::f32, count, host.rng()));
    const Bytes want = expected(DType::f32, ReduceOp::sum, inputs, count);
    const std::vector<Bytes> before = inputs;
    std::vector<std::unique_ptr<LocalCollective>> machines;
    for (int i = 0; i < 3; ++i) {
      LocalReduction work{.items = {}, .bytes = count * 4};
      std::byte* data = inputs[static_cast<std::size_t>(i)].data();
      if (i == 1) work.vote = vote;
      if (work.vote == PlanVote::abort) data = nullptr;
      work.items.push_back({data, data, 0, count * 4});
      machines.push_back(make_local_allreduce(host.team(i), std::move(work)));
    }
    std::vector<bool> ended(3, false);
    for (int round = 0; round < 3000; ++round) {
      const auto pick = host.rng().below(3);
      if (!ended[pick]) ended[pick] = machines[pick]->step() == Step::finished;
    }
    for (std::size_t i = 0; i < 3; ++i) {
      ASSERT_TRUE(ended[i]);
      EXPECT_EQ(machines[i]->vote(), vote);
      EXPECT_TRUE(inputs[i] == (vote == PlanVote::abort ? before[i] : want));
    }
    // The team's next operation works as usual.
    machines.clear();
    inputs = before;
    for (int i = 0; i < 3; ++i) {
      std::byte* data = inputs[static_cast<std::size_t>(i)].data();
      machines.push_back(make_local_allreduce(
          host.team(i), {.items = {{data, data, 0, count * 4}}, .bytes = count * 4}));
    }
    host.run(std::move(machines));
    for (const Bytes& input : inputs) EXPECT_TRUE(input == want);
  }
}

TEST(LocalCrew, ResultsAreTheSameBitsWithAnyNumberOfThreads) {
  std::vector<Bytes> first;
  for (const int threads : {1, 2, 4}) {
    LocalTestHost host(2, 99, threads);
    Deal d = deal(2, host.rng());
    std::vector<std::unique_ptr<LocalCollective>> machines;
    for (int i = 0; i < 2; ++i)
      machines.push_back(make_local_allreduce(host.team(i), work_of(d, i)));
    host.run(std::move(machines));
    EXPECT_TRUE(d.inputs[0] == d.want && d.outputs[1] == d.want);
    if (first.empty()) first = {d.inputs[0], d.outputs[1]};
    EXPECT_TRUE(first[0] == d.inputs[0]);
  }
}

}  // namespace
}  // namespace unisono::move
