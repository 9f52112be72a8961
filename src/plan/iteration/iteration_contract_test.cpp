// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What every planner of an iteration promises. One joins by its row in iteration_table().
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "plan/iteration/rows.hpp"
#include "plan/iteration/testing/instances.hpp"
#include "plan/iteration/timeline.hpp"

namespace unisono::plan {
namespace {

constexpr double kRounding = 1e-12;     // relative

class IterationContract : public testing::TestWithParam<IterationRow> {
 protected:
  Arrangement arrange(const IterationProblem& problem,
                      const IterationSettings& settings = {}) const {
    return make_iteration_planner(GetParam().name, settings)->arrange(problem);
  }
};

void expect_priced_rightly(const IterationProblem& problem, const Arrangement& made) {
  ASSERT_EQ(fault_of(problem, made), "");
  const Arrangement priced = timeline(problem, made);
  const auto near = [](double a, double b) {
    EXPECT_NEAR(a, b, kRounding * std::max(1.0, std::abs(b)));
  };
  for (std::size_t i = 0; i < made.buckets.size(); ++i) {
    near(made.buckets[i].start_s, priced.buckets[i].start_s);
    near(made.buckets[i].end_s, priced.buckets[i].end_s);
  }
  for (std::size_t i = 0; i < made.gathers.size(); ++i) {
    near(made.gathers[i].end_s, priced.gathers[i].end_s);
  }
  for (std::size_t i = 0; i < made.parts.size(); ++i) {
    near(made.parts[i].start_s, priced.parts[i].start_s);
    near(made.parts[i].end_s, priced.parts[i].end_s);
  }
  near(made.finish_s, priced.finish_s);
  near(made.forward_end_s, priced.forward_end_s);
  EXPECT_NEAR(made.waited_s, priced.waited_s, 1e3 * kRounding);
}

IterationSettings random_settings(Rng& rng) {
  IterationSettings settings;
  settings.fusion_bytes = static_cast<std::int64_t>(rng.below(3000));
  settings.first_bytes = static_cast<std::int64_t>(rng.below(800));
  settings.reach_limit = rng.below(2) == 0;
  settings.partition_bytes = 1 + static_cast<std::int64_t>(rng.below(600));
  settings.credit_bytes = static_cast<std::int64_t>(rng.below(1500));
  return settings;
}

TEST_P(IterationContract, IsInTheTableUnderItsOwnName) {
  const auto planner = make_iteration_planner(GetParam().name);
  ASSERT_NE(planner, nullptr);
  EXPECT_EQ(planner->name(), GetParam().name);
  EXPECT_FALSE(GetParam().about.empty());
}

TEST_P(IterationContract, NoTensorsGiveAnEmptyArrangement) {
  const Instance none = with_line({}, {1, 1});
  EXPECT_EQ(arrange(none.problem()), Arrangement{});
}

TEST_P(IterationContract, OneTensorStartsWhenItIsReady) {
  const Instance one = with_line({{2, 10, 3}}, {1, 0.5});
  const Arrangement made = arrange(one.problem());
  ASSERT_EQ(made.buckets.size(), 1U);
  EXPECT_EQ(made.buckets[0].start_s, 2);
  EXPECT_EQ(made.finish_s, 8);
  EXPECT_EQ(made.forward_end_s, 11);
  EXPECT_EQ(made.waited_s, 6);
}

TEST_P(IterationContract, TensorsTravelOnceInOrderAndItsTimesAreThoseOfTheTimeline) {
  Rng rng(1);
  for (int i = 0; i < 400 && !HasFailure(); ++i) {
    SCOPED_TRACE(i);
    Instance each = random_instance(rng, rng.below(30));
    const IterationSettings settings = random_settings(rng);
    expect_priced_rightly(each.problem(), arrange(each.problem(), settings));
    each.costs.push_back(random_points(rng));
    each.methods.front().transfer = each.costs.back().get();
    expect_priced_rightly(each.problem(), arrange(each.problem(), settings));
  }
}

TEST_P(IterationContract, TheSameProblemGivesTheSameBits) {
  Rng rng(2);
  const Instance each = random_instance(rng, 60);
  EXPECT_EQ(arrange(each.problem()), arrange(each.problem()));
}

TEST_P(IterationContract, ReadyTimesOutOfOrderCountAsThoseOfTheirPredecessors) {
  const Instance mixed = with_line({{3, 10}, {1, 20}, {4, 5}, {2, 1}}, {1, 0.1});
  const Instance sorted = with_line({{3, 10}, {3, 20}, {4, 5}, {4, 1}}, {1, 0.1});
  EXPECT_EQ(arrange(mixed.problem()), arrange(sorted.problem()));
}

TEST_P(IterationContract, EmptyTensorsAndEqualTimesAreArrangedLikeOthers) {
  for (const Line line : {Line{1, 1}, Line{0, 1}, Line{1, 0}, Line{0, 0}}) {
    const Instance each = with_line({{1, 0}, {1, 0}, {1, 7}, {1, 0}, {1, 7}, {1, 7}}, line);
    expect_priced_rightly(each.problem(), arrange(each.problem()));
  }
}

TEST_P(IterationContract, TenThousandTensorsAreArranged) {
  Rng rng(3);
  Instance large = random_instance(rng, 10'000);
  for (IterationTensor& tensor : large.tensors) tensor.bytes *= 2;
  if (GetParam().name == "merged-methods") large.tensors.resize(1000);  // O(L²)
  expect_priced_rightly(large.problem(), arrange(large.problem()));
}

TEST_P(IterationContract, MergedIsNeverWorse) {
  if (GetParam().name == "two-phase") {
    GTEST_SKIP() << "sends half after the backward pass: its ends mean something else";
  }
  Rng rng(4);
  for (int i = 0; i < 2000 && !HasFailure(); ++i) {
    SCOPED_TRACE(i);
    Instance each = random_instance(rng, 1 + rng.below(40));
    if (i % 2 == 1) {
      each.costs.push_back(random_points(rng));
      each.methods.front().transfer = each.costs.back().get();
    }
    const IterationProblem problem = each.problem();
    const Arrangement made = arrange(problem, random_settings(rng));
    // Two parts of a tensor may be cheaper than the whole where the cost has steps.
    if (!made.parts.empty() && !each.cost().line()) continue;
    const Arrangement merged = arrange_merged(problem, {});
    EXPECT_LE(merged.finish_s, made.finish_s * (1 + kRounding));
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, IterationContract, testing::ValuesIn(iteration_table()),
                         [](const auto& row) {
                           std::string name(row.param.name);
                           std::erase(name, '-');
                           return name;
                         });

TEST(IterationTable, AnUnknownNameMakesNothing) {
  EXPECT_EQ(make_iteration_planner("fastest"), nullptr);
}

std::vector<std::size_t> ends(const Arrangement& made) {
  std::vector<std::size_t> out;
  for (const TimedBucket& bucket : made.buckets) out.push_back(bucket.end);
  return out;
}
using Ends = std::vector<std::size_t>;

TEST(ThresholdIteration, HorovodStopsBeforeTheLimitAndDdpBehindIt) {
  constexpr std::int64_t kMiB = 1 << 20;
  std::vector<IterationTensor> tensors;
  for (const std::int64_t halves : {1, 2, 40, 40, 80, 2}) tensors.push_back({0, halves * kMiB / 2});
  const Instance each = with_line(std::move(tensors), {1, 0});
  EXPECT_EQ(ends(arrange_threshold(each.problem(), horovod_settings())), (Ends{4, 6}));
  EXPECT_EQ(ends(arrange_threshold(each.problem(), ddp_settings())), (Ends{2, 4, 5, 6}));
}

TEST(ThresholdIteration, ATensorBeyondTheLimitGoesAlone) {
  const Instance each = with_line({{0, 1}, {0, 100}, {0, 1}}, {1, 0});
  IterationSettings settings;
  settings.fusion_bytes = 10;
  EXPECT_EQ(ends(arrange_threshold(each.problem(), settings)), (Ends{1, 2, 3}));
}

TEST(GroupsIteration, NeighboursOfAGroupTravelTogetherAndOthersAlone) {
  std::vector<IterationTensor> tensors;
  for (const int group : {5, 5, -1, -1, 2, 5}) tensors.push_back({0, 1, 0, group});
  const Instance each = with_line(std::move(tensors), {1, 0});
  EXPECT_EQ(ends(arrange_groups(each.problem(), {})), (Ends{2, 3, 4, 5, 6}));
}

TEST(Timeline, FindsWhatIsNotAnArrangement) {
  const Instance each = with_line({{0, 4}, {0, 4}}, {1, 0});
  const IterationProblem problem = each.problem();
  Arrangement wrong;
  EXPECT_NE(fault_of(problem, wrong), "");
  wrong.buckets = {{0, 1}, {1, 2}};
  EXPECT_EQ(fault_of(problem, wrong), "");
  wrong.buckets[1].method = 1;
  EXPECT_NE(fault_of(problem, wrong), "");
  wrong.buckets = {{0, 2}, {1, 2}};
  EXPECT_NE(fault_of(problem, wrong), "");
  wrong.buckets = {{0, 1}, {1, 2}};
  wrong.parts = {{0, 0, 4}, {1, 0, 3}};
  EXPECT_NE(fault_of(problem, wrong), "");
  wrong.parts = {{0, 0, 4}, {1, 0, 3}, {1, 3, 1}};
  EXPECT_EQ(fault_of(problem, wrong), "");
}

}  // namespace
}  // namespace unisono::plan
