// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/topo/learn/plan_drift.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace unisono::order {
namespace {

// Two units share a bucket when the second is ready within a millisecond of the first; a bucket
// that waits for longer ends later by that much.
class TwoUnits final : public IterationArranger {
 public:
  std::string_view name() const override { return "two units"; }
  IterationBuckets arrange(const IterationGraph& graph) const override {
    const bool together = graph.units[1].ready_ns - graph.units[0].ready_ns < 1'000'000;
    return together ? IterationBuckets{{0, 1}} : IterationBuckets{{0}, {1}};
  }
  double finish_s(const IterationGraph& graph, const IterationBuckets& buckets,
                  const IterationMethods&) const override {
    return buckets == arrange(graph) ? 1.0 : 2.0;
  }
};

PlanDrift drift_of(const DriftRules& rules) {
  ArrangedIteration arranged{std::make_shared<TwoUnits>(),
                             {std::vector<IterationUnit>(2), IterationEdges(2)}, {{0, 1}}, {}};
  return PlanDrift(std::move(arranged), {0, 1}, rules);
}

// How many of these iterations pass until another plan is due; -1: never.
int until_due(PlanDrift& drift, int iterations, const std::function<Nanos(int)>& apart) {
  for (int i = 0; i < iterations; ++i) {
    const Time begin = Time{} + Nanos(1'000'000'000) * i;
    const Time submitted[] = {begin, begin + apart(i)};
    if (drift.passed(submitted)) return i + 1;
  }
  return -1;
}

constexpr Nanos kNear{10'000}, kFar{5'000'000};

TEST(PlanDrift, IsDueAfterSeveralLooksThatAllPromiseMore) {
  PlanDrift drift = drift_of({.watched = 16, .in_a_row = 3, .iterations_min = 64});
  EXPECT_EQ(until_due(drift, 1000, [](int) { return kFar; }), 64 + 3 * 16);
}

TEST(PlanDrift, IsNeverDueWhileTheArrangementStaysTheBest) {
  PlanDrift drift = drift_of({});
  EXPECT_EQ(until_due(drift, 20'000, [](int) { return kNear; }), -1);
}

TEST(PlanDrift, SingleLateIterationsDoNotCount) {
  PlanDrift drift = drift_of({});
  EXPECT_EQ(until_due(drift, 20'000, [](int i) { return i % 3 == 0 ? kFar : kNear; }), -1);
}

TEST(PlanDrift, LooksMustPromiseMoreInARow) {
  PlanDrift drift = drift_of({.watched = 4, .in_a_row = 3, .iterations_min = 0});
  // Two looks that promise more, then one that does not, again and again.
  EXPECT_EQ(until_due(drift, 12, [](int i) { return i < 8 ? kFar : kNear; }), -1);
}

}  // namespace
}  // namespace unisono::order
