// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Planners that reach into the next forward pass: two-phase and priority.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "plan/iteration/rows.hpp"
#include "plan/iteration/testing/instances.hpp"
#include "plan/iteration/timeline.hpp"

namespace unisono::plan {
namespace {

double rounding(double value) { return 1e-11 * std::max(1.0, value); }

Arrangement two_phase(const IterationProblem& problem) { return arrange_two_phase(problem, {}); }

// The soonest end of the forward pass over all scatters and all gathers, priced by the timeline.
double least_forward_end(const IterationProblem& problem) {
  const std::size_t count = problem.tensors.size();
  double best = std::numeric_limits<double>::infinity();
  for_every_cut(count, [&](const std::vector<std::size_t>& scatters) {
    Arrangement tried;
    std::size_t from = 0;
    for (const std::size_t end : scatters) tried.buckets.push_back({from, end}), from = end;
    for_every_cut(count, [&](const std::vector<std::size_t>& gathers) {
      tried.gathers.clear();
      std::size_t first = 0;
      for (const std::size_t end : gathers) {
        tried.gathers.insert(tried.gathers.begin(), TimedBucket{first, end});
        first = end;
      }
      best = std::min(best, timeline(problem, tried).forward_end_s);
    });
  });
  return best;
}

// F(j, k): the first j tensors of the forward pass computed, after k gathers. For a line alone.
double least_by_counting(const IterationProblem& problem, double begin_s, Line line) {
  const std::size_t count = problem.tensors.size();
  constexpr double kNone = std::numeric_limits<double>::infinity();
  std::vector<double> sum(count + 1, 0), compute(count + 1, 0);
  for (std::size_t j = 0; j < count; ++j) {
    const IterationTensor& tensor = problem.tensors[count - 1 - j];
    sum[j + 1] = sum[j] + static_cast<double>(tensor.bytes);
    compute[j + 1] = compute[j] + tensor.forward_s;
  }
  std::vector<double> before(count + 1, kNone);
  before[0] = begin_s;
  double best = kNone;
  for (std::size_t k = 1; k <= count; ++k) {
    std::vector<double> now(count + 1, kNone);
    for (std::size_t j = k; j <= count; ++j) {
      const double arrived =
          begin_s + static_cast<double>(k) * line.latency_s + line.per_byte_s * sum[j];
      for (std::size_t i = k - 1; i < j; ++i) {
        now[j] = std::min(now[j], std::max(before[i], arrived) + compute[j] - compute[i]);
      }
    }
    best = std::min(best, now[count]);
    before = now;
  }
  return best;
}

TEST(TwoPhase, IsTheBestOfAllScattersAndGathers) {
  Rng rng(21);
  for (int i = 0; i < 300 && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(i);
    Instance each = random_instance(rng, 1 + rng.below(5));
    if (i % 2 == 1) {
      each.costs.push_back(random_points(rng));
      each.methods.front().transfer = each.costs.back().get();
    }
    const double best = least_forward_end(each.problem());
    EXPECT_NEAR(two_phase(each.problem()).forward_end_s, best, rounding(best));
  }
}

TEST(TwoPhase, GathersAreThoseOfTheRecurrenceOverTheirNumber) {
  Rng rng(22);
  for (int i = 0; i < 300 && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(i);
    const Instance each = random_instance(rng, 1 + rng.below(40));
    const Arrangement made = two_phase(each.problem());
    const Line whole = *each.cost().line();
    const double best = least_by_counting(each.problem(), made.buckets.back().end_s,
                                          {whole.latency_s / 2, whole.per_byte_s / 2});
    EXPECT_NEAR(made.forward_end_s, best, rounding(best));
  }
}

// The same line as points is planned by the pass for any cost.
TEST(TwoPhase, ALineAndItsPointsGiveTheSameEnd) {
  Rng rng(23);
  for (int i = 0; i < 100 && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(i);
    Instance each = random_instance(rng, 1 + rng.below(60));
    const double by_line = two_phase(each.problem()).forward_end_s;
    const Line line = *each.cost().line();
    each.costs.push_back(std::make_unique<PointsCost>(std::vector<PointsCost::Point>{
        {0, line.seconds(0)}, {1 << 20, line.seconds(1 << 20)}}));
    each.methods.front().transfer = each.costs.back().get();
    EXPECT_NEAR(two_phase(each.problem()).forward_end_s, by_line, rounding(by_line));
  }
}

TEST(TwoPhase, HidesTheSecondHalfUnderTheForwardPass) {
  // Sending takes as long as computing: merged waits for all of it, two-phase for the scatters and
  // the first gather.
  std::vector<IterationTensor> tensors;
  for (int i = 0; i < 10; ++i) tensors.push_back({1.0 + i, 10, 1.0});
  const Instance each = with_line(tensors, {0, 0.2});
  const Arrangement merged = arrange_merged(each.problem(), {});
  const Arrangement phases = two_phase(each.problem());
  EXPECT_DOUBLE_EQ(merged.waited_s, 11);     // 20 s of transfers begin after 1 s
  EXPECT_DOUBLE_EQ(phases.waited_s, 2);      // the last scatter and the first gather
  EXPECT_LT(phases.forward_end_s, merged.forward_end_s);
}

TEST(TwoPhase, UsesTheCostsOfItsHalvesWhereTheyAreKnown) {
  const Instance each = with_line({{1, 10, 1}}, {1, 0.1});
  const LineCost scatter({0.5, 0.05}), gather({0.25, 0});
  IterationProblem problem = each.problem();
  problem.scatter = &scatter;
  problem.gather = &gather;
  const Arrangement made = two_phase(problem);
  EXPECT_DOUBLE_EQ(made.buckets[0].end_s, 2);
  EXPECT_DOUBLE_EQ(made.finish_s, 2.25);
  EXPECT_DOUBLE_EQ(timeline(problem, made).forward_end_s, 3.25);
}

Arrangement priority(const IterationProblem& problem, std::int64_t partition,
                     std::int64_t credit) {
  IterationSettings settings;
  settings.partition_bytes = partition;
  settings.credit_bytes = credit;
  return arrange_priority(problem, settings);
}

TEST(Priority, EveryByteTravelsOnceInPartitionsWithinTheCredit) {
  Rng rng(24);
  for (int i = 0; i < 500 && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(i);
    const Instance each = random_instance(rng, rng.below(20));
    const auto partition = 1 + static_cast<std::int64_t>(rng.below(400));
    const auto credit = static_cast<std::int64_t>(rng.below(1000));
    const Arrangement made = priority(each.problem(), partition, credit);
    EXPECT_EQ(fault_of(each.problem(), made), "");
    std::int64_t all = 0, sent = 0;
    for (const IterationTensor& tensor : each.tensors) all += tensor.bytes;
    for (std::size_t p = 0; p < made.parts.size(); ++p) {
      const TimedPart& part = made.parts[p];
      EXPECT_LE(part.bytes, partition);
      EXPECT_GE(part.handed_s, each.tensors[part.tensor].ready_s);
      EXPECT_GE(part.start_s, part.handed_s);
      sent += part.bytes;
      // What the channel has when this part is handed over, itself included.
      std::int64_t in_flight = part.bytes;
      bool alone = true;
      for (std::size_t q = 0; q < p; ++q) {
        if (made.parts[q].end_s > part.handed_s) in_flight += made.parts[q].bytes, alone = false;
      }
      EXPECT_TRUE(alone || in_flight <= credit) << in_flight << " of " << credit;
    }
    EXPECT_EQ(sent, all);
  }
}

TEST(Priority, AnUrgentTensorOvertakesALargeOneThatIsUnderWay) {
  // The last layer's 1,000 bytes are ready at 0, the first layer's 10 bytes at 1.
  const Instance each = with_line({{0, 1000, 1}, {1, 10, 1}}, {0, 0.01});
  const Arrangement split = priority(each.problem(), 100, 100);
  // The part that is under way at 1 ends at 1; then the urgent one goes.
  EXPECT_DOUBLE_EQ(split.buckets[1].start_s, 1.0);
  EXPECT_DOUBLE_EQ(split.buckets[1].end_s, 1.1);
  EXPECT_DOUBLE_EQ(split.finish_s, 10.1);
  // With credit for three parts two more are in front of it.
  EXPECT_DOUBLE_EQ(priority(each.problem(), 100, 300).buckets[1].start_s, 3.0);
  // Whole tensors: it waits for all.
  const Arrangement whole = priority(each.problem(), 1000, 1000);
  EXPECT_DOUBLE_EQ(whole.buckets[1].start_s, 10.0);
  EXPECT_LT(split.forward_end_s, whole.forward_end_s);
  // The forward pass starts at 1: waits 0.1 for the first layer, and 8 for the last.
  EXPECT_DOUBLE_EQ(split.waited_s, 0.1 + 8.0);
  EXPECT_DOUBLE_EQ(split.forward_end_s, 11.1);
}

TEST(Priority, WithoutPartitionsAndInOrderItIsWfbp) {
  Rng rng(25);
  for (int i = 0; i < 200; ++i) {
    std::vector<IterationTensor> tensors = random_tensors(rng, 1 + rng.below(20));
    // So slow that every tensor has arrived before the next is ready.
    double ready = 0;
    for (IterationTensor& tensor : tensors) tensor.ready_s = ready += 10;
    const Instance each = with_line(std::move(tensors), {1, 1e-3});
    EXPECT_EQ(priority(each.problem(), 1 << 20, 1 << 20).buckets,
              arrange_wfbp(each.problem(), {}).buckets);
  }
}

}  // namespace
}  // namespace unisono::plan
