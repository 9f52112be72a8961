// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "plan/iteration/rows.hpp"
#include "plan/iteration/testing/instances.hpp"
#include "plan/iteration/timeline.hpp"

namespace unisono::plan {
namespace {

double tolerance(double value) { return 1e-12 * std::max(1.0, value); }

void expect_best(const Instance& each, double best) {
  const IterationProblem problem = each.problem();
  const Arrangement any = merged_for_any_cost(problem);
  EXPECT_NEAR(any.finish_s, best, tolerance(best));
  EXPECT_NEAR(timeline(problem, any).finish_s, best, tolerance(best));
  const std::optional<Line> line = each.cost().line();
  if (!line) return;
  const Arrangement fast = merged_for_line(problem, *line);
  EXPECT_NEAR(fast.finish_s, best, tolerance(best));
  EXPECT_NEAR(timeline(problem, fast).finish_s, best, tolerance(best));
}

TEST(Merged, IsTheBestOfAllArrangementsInBothVersions) {
  Rng rng(7);
  for (int i = 0; i < 12'000 && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(i);
    const Instance each = random_instance(rng, 1 + rng.below(9));
    expect_best(each, least_finish(each.problem()));
  }
}

TEST(Merged, IsTheBestOfAllArrangementsOfSixteenTensors) {
  Rng rng(8);
  for (int i = 0; i < 20 && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(i);
    const Instance each = random_instance(rng, 16);
    expect_best(each, least_finish(each.problem()));
  }
}

TEST(Merged, IsTheBestForCostsWithStepsAndFlatParts) {
  Rng rng(9);
  for (int i = 0; i < 3000 && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(i);
    Instance each = random_instance(rng, 1 + rng.below(9));
    each.costs.push_back(random_points(rng));
    each.methods.front().transfer = each.costs.back().get();
    expect_best(each, least_finish(each.problem()));
  }
}

TEST(Merged, BothVersionsAgreeOnLargeIterations) {
  Rng rng(10);
  for (int i = 0; i < 50; ++i) {
    const Instance each = random_instance(rng, 300 + rng.below(700));
    const double any = merged_for_any_cost(each.problem()).finish_s;
    const double fast = merged_for_line(each.problem(), *each.cost().line()).finish_s;
    EXPECT_NEAR(any, fast, tolerance(any));
  }
}

// The greedy rule asks what is best if the bucket closed at the next tensor. Here it waits twice
// for a little, where sending the large first tensor at once hides it.
TEST(Merged, BeatsTheGreedyRuleWhereWaitingTwiceDoesNotPay) {
  const Instance each = with_line({{0, 10}, {0.9, 1}, {1.8, 1}}, {1, 0.1});
  const Arrangement greedy = arrange_greedy(each.problem(), {});
  const Arrangement merged = arrange_merged(each.problem(), {});
  EXPECT_DOUBLE_EQ(greedy.finish_s, 4.0);
  EXPECT_EQ(greedy.buckets.size(), 1U);
  EXPECT_DOUBLE_EQ(merged.finish_s, 3.2);
  ASSERT_EQ(merged.buckets.size(), 2U);
  EXPECT_EQ(merged.buckets[0].end, 1U);
}

TEST(Merged, ThePictureOfTheDocsShowsWhatThePlannersGive) {
  const Instance each = with_line({{3e-3, 4'000'000},
                                   {5e-3, 100'000},
                                   {6e-3, 200'000},
                                   {8e-3, 1'000'000},
                                   {9e-3, 100'000},
                                   {11e-3, 500'000},
                                   {12e-3, 100'000},
                                   {14e-3, 100'000}},
                                  {2e-3, 1e-9});
  EXPECT_NEAR(arrange_wfbp(each.problem(), {}).finish_s, 25.1e-3, 1e-15);
  EXPECT_NEAR(arrange_single(each.problem(), {}).finish_s, 22.1e-3, 1e-15);
  EXPECT_NEAR(arrange_merged(each.problem(), {}).finish_s, 16.7e-3, 1e-15);
}

TEST(Merged, NeverEndsSoonerWhenAnythingTakesLonger) {
  Rng rng(11);
  for (int i = 0; i < 2000 && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(i);
    const std::vector<IterationTensor> tensors = random_tensors(rng, 1 + rng.below(20));
    const Line line = random_line(rng);
    const double base = arrange_merged(with_line(tensors, line).problem(), {}).finish_s;
    const auto expect_later = [&](std::vector<IterationTensor> other, Line slower) {
      const Instance varied = with_line(std::move(other), slower);
      const double then = arrange_merged(varied.problem(), {}).finish_s;
      EXPECT_GE(then, base - tolerance(base));
    };
    expect_later(tensors, {line.latency_s + rng.uniform(), line.per_byte_s});
    expect_later(tensors, {line.latency_s, line.per_byte_s + 1e-3 * rng.uniform()});
    std::vector<IterationTensor> later = tensors, larger = tensors;
    later[rng.below(later.size())].ready_s += rng.uniform();
    larger[rng.below(larger.size())].bytes += static_cast<std::int64_t>(rng.below(500));
    expect_later(later, line);
    expect_later(larger, line);
  }
}

TEST(Merged, OfEqualEndsTheLongestLastBucketIsTaken) {
  // Nothing costs anything: all arrangements end at once.
  const Instance free = with_line({{1, 5}, {1, 5}, {1, 5}}, {0, 0});
  for (const Arrangement& made : {merged_for_any_cost(free.problem()),
                                  merged_for_line(free.problem(), {0, 0})}) {
    EXPECT_EQ(made.finish_s, 1);
    EXPECT_EQ(made.buckets.back().begin, 2U);  // the first two have arrived when the third is ready
  }
  const Instance busy = with_line({{0, 4}, {1, 0}, {1, 0}}, {0, 1});
  EXPECT_EQ(merged_for_any_cost(busy.problem()).buckets.back().begin, 1U);
  EXPECT_EQ(merged_for_line(busy.problem(), {0, 1}).buckets.back().begin, 1U);
}

TEST(Merged, IsSingleUnderHugeLatencyAndWfbpUnderNone) {
  Rng rng(12);
  std::vector<IterationTensor> tensors = random_tensors(rng, 20);
  for (IterationTensor& tensor : tensors) tensor.bytes += 1;
  EXPECT_EQ(arrange_merged(with_line(tensors, {1e6, 1}).problem(), {}).buckets.size(), 1U);
  const Instance fast = with_line(tensors, {0, 1e-3});
  EXPECT_NEAR(arrange_merged(fast.problem(), {}).finish_s,
              arrange_wfbp(fast.problem(), {}).finish_s, 1e-12);
}

TEST(Greedy, JoinsByWhatJoiningSavesWhereTheCostIsNoLine) {
  // Up to 100 bytes cost the same, so joining saves a whole transfer.
  Instance each = with_line({{0, 50}, {0.9, 50}}, {1, 1});
  each.costs.push_back(std::make_unique<PointsCost>(
      std::vector<PointsCost::Point>{{100, 1.0}, {200, 2.0}}));
  each.methods.front().transfer = each.costs.back().get();
  EXPECT_EQ(arrange_greedy(each.problem(), {}).buckets.size(), 1U);
  each.tensors[1].ready_s = 1.1;
  EXPECT_EQ(arrange_greedy(each.problem(), {}).buckets.size(), 2U);
}

TEST(Costs, PointsAreJoinedStraightAndNeverFall) {
  const PointsCost cost({{100, 2.0}, {200, 1.0}, {300, 4.0}});
  EXPECT_EQ(cost.seconds(0), 2);
  EXPECT_EQ(cost.seconds(100), 2);
  EXPECT_EQ(cost.seconds(150), 2);
  EXPECT_EQ(cost.seconds(250), 3);
  EXPECT_EQ(cost.seconds(300), 4);
  EXPECT_EQ(cost.seconds(400), 6);
  EXPECT_FALSE(cost.line().has_value());
  const LineCost line({1, 2});
  const HalfCost half(line);
  EXPECT_EQ(half.seconds(3), 3.5);
  EXPECT_EQ(half.line()->seconds(3), 3.5);
}

// A shaper that lets 128 KiB through at once made 33 short buckets seem to take half of one long one.
TEST(Costs, WhatPassesAtOnceIsChargedAsAPartOfLongerOnes) {
  std::vector<PointsCost::Point> points = {
      {1 << 10, 1e-4}, {1 << 17, 3e-4}, {1 << 20, 8e-3}, {1 << 21, 32e-3}};
  charge_bursts(points, 1 << 20);
  EXPECT_EQ(points[0].seconds, 1e-4);       // latency, more than its share
  EXPECT_EQ(points[1].seconds, 1e-3);
  EXPECT_EQ(points[2].seconds, 8e-3);
  EXPECT_EQ(points[3].seconds, 32e-3);      // beyond what is asked for: neither lifted nor lifting
  const PointsCost cost(points);
  for (std::int64_t bytes = 1 << 10; bytes < 1 << 19; bytes += 4097) {
    EXPECT_GE(2 * cost.seconds(bytes), cost.seconds(2 * bytes) * (1 - 1e-12)) << bytes;
  }
}

// Method choice.

Instance random_methods(Rng& rng, std::size_t count) {
  Instance each = random_instance(rng, count);
  for (int m = 0; m < 3; ++m) {
    each.costs.push_back(rng.below(2) == 0 ? random_points(rng)
                                           : std::make_unique<LineCost>(random_line(rng)));
    const SizeCost* transfer = each.costs.back().get();
    each.costs.push_back(std::make_unique<LineCost>(random_line(rng)));
    each.methods.push_back({"other", transfer, each.costs.back().get(), rng.below(2) == 0});
  }
  return each;
}

TEST(MergedMethods, AreTheBestOfAllArrangementsAndMethods) {
  Rng rng(13);
  for (int i = 0; i < 3000 && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(i);
    const Instance each = random_methods(rng, 1 + rng.below(8));
    const IterationProblem problem = each.problem();
    for (const bool lossy : {false, true}) {
      IterationSettings settings;
      settings.allow_lossy = lossy;
      const Arrangement made = arrange_methods(problem, settings);
      const double best = least_finish(problem, lossy);
      EXPECT_EQ(fault_of(problem, made), "");
      EXPECT_NEAR(made.finish_s, best, tolerance(best));
      EXPECT_NEAR(timeline(problem, made).finish_s, best, tolerance(best));
      EXPECT_LE(made.finish_s, arrange_merged(problem, {}).finish_s + tolerance(best));
      for (const TimedBucket& bucket : made.buckets) {
        EXPECT_TRUE(lossy || !problem.methods[bucket.method].lossy);
      }
    }
  }
}

TEST(MergedMethods, NoneWinsWhereEncodingCostsMoreThanItSavesAndWhereItIsEqual) {
  const LineCost wire({1, 0.01}), smaller({1, 0.005}), same({1, 0.01});
  const LineCost slow({5, 0.01}), none({0, 0});
  const std::vector<IterationTensor> tensors{{0, 100}, {1, 200}, {2, 300}};
  const Method methods[] = {
      {"none", &wire}, {"quantised", &smaller, &slow}, {"cast", &same, &none}};
  const Arrangement made = arrange_methods({tensors, methods}, {});
  for (const TimedBucket& bucket : made.buckets) EXPECT_EQ(bucket.method, 0U);
  const Method cheap[] = {{"none", &wire}, {"quantised", &smaller, &none}};
  for (const TimedBucket& bucket : arrange_methods({tensors, cheap}, {}).buckets) {
    EXPECT_EQ(bucket.method, 1U);
  }
}

TEST(MergedMethods, LossyOnesAreUsedOnlyWhereAllowed) {
  const LineCost wire({1, 0.01}), tiny({1, 0});
  const std::vector<IterationTensor> tensors{{0, 100}};
  const Method methods[] = {{"none", &wire}, {"topk", &tiny, nullptr, true}};
  IterationSettings settings;
  EXPECT_EQ(arrange_methods({tensors, methods}, settings).buckets[0].method, 0U);
  settings.allow_lossy = true;
  EXPECT_EQ(arrange_methods({tensors, methods}, settings).buckets[0].method, 1U);
}

}  // namespace
}  // namespace unisono::plan
