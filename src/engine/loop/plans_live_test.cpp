// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Planned iterations in a running engine: the planner, the limit and groups mean what they say,
// whoever plans and however many teams there are, and every sum is right.
#include <gmock/gmock.h>

#include <barrier>
#include <string>
#include <tuple>
#include <vector>

#include "base/data/text.hpp"
#include "engine/testing/thread_ranks.hpp"

namespace unisono::engine {
namespace {

using testing::HasSubstr;

constexpr int kPlanRanks = 3;
constexpr std::size_t kPlanTensors = 8, kPlanElements = 256;

// The same step on every rank; results are checked, and written over right after.
class PlanSteps {
 public:
  explicit PlanSteps(Engine& engine) : engine_(engine), data_(kPlanTensors) {}

  void one() {
    std::vector<Ticket> tickets;
    for (std::size_t t = 0; t < kPlanTensors; ++t) {
      data_[t].assign(kPlanElements, value(engine_.rank(), t));
      tickets.push_back(engine_.allreduce<float>(cat("t", t), data_[t], {.op = ReduceOp::sum}));
    }
    for (const Ticket& ticket : tickets) ASSERT_TRUE(ticket.wait().ok());
    for (std::size_t t = 0; t < kPlanTensors; ++t) {
      float sum = 0;
      for (int rank = 0; rank < kPlanRanks; ++rank) sum += value(rank, t);
      for (float& element : data_[t]) {
        ASSERT_EQ(element, sum) << "t" << t << " in step " << count_;
        element = -1;
      }
    }
    ++count_;
  }
  // All ranks take the same number of steps; a plan comes about within them, however loaded the
  // machine is, unless patience runs out again and again.
  void until_planned() {
    for (int i = 0; i < 60; ++i) one();
  }

 private:
  float value(int rank, std::size_t t) const {
    return static_cast<float>((static_cast<std::size_t>(rank) + 1) * (t + 1) + count_ % 7);
  }
  Engine& engine_;
  std::vector<std::vector<float>> data_;
  std::size_t count_ = 0;
};

Options planned_by(const std::string& planner, std::int64_t teams = 1) {
  Options options;
  options.order = "topo";
  options.planner = planner;
  options.teams = teams;
  options.topo_patience_s = 30;
  return options;
}

class PlansLivePlanners : public testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(PlansLivePlanners, SumsAreRightAndTheReportSaysThatStepsArePlanned) {
  const auto [planner, teams] = GetParam();
  std::barrier<> all(kPlanRanks);
  run_ranks(kPlanRanks, [&](Engine& engine) {
    PlanSteps steps(engine);
    steps.until_planned();
    const OrderReport order = engine.stats().order;
    EXPECT_TRUE(order.planned) << order.reason;
    EXPECT_EQ(order.strategy, "topo");
    EXPECT_EQ(order.planner, planner);
    EXPECT_GE(order.plans, 1u);
    EXPECT_GE(order.buckets, 1u);
    EXPECT_LE(order.buckets, kPlanTensors);
    all.arrive_and_wait();
    const std::uint64_t said = engine.stats().control_messages;
    for (int i = 0; i < 20; ++i) steps.one();
    EXPECT_LE(engine.stats().control_messages, said + 4) << "but for beats nothing is said";
    all.arrive_and_wait();
  }, planned_by(planner, teams));
}

INSTANTIATE_TEST_SUITE_P(
    All, PlansLivePlanners,
    testing::Combine(testing::Values("threshold", "wfbp", "single", "groups", "merged",
                                     "merged-greedy", "priority"),
                     testing::Values(1, 3)),
    [](const auto& param) {
      std::string name = cat(std::get<0>(param.param), std::get<1>(param.param));
      std::erase(name, '-');
      return name;
    });

TEST(PlansLive, PlannersMeanWhatTheySayOncePlanned) {
  const auto buckets = [](const char* planner, std::int64_t fusion_bytes) {
    Options options = planned_by(planner);
    options.fusion_bytes = fusion_bytes;
    std::uint64_t count = 0;
    std::barrier<> all(kPlanRanks);     // a rank that leaves ends the plan
    run_ranks(kPlanRanks, [&](Engine& engine) {
      PlanSteps steps(engine);
      steps.until_planned();
      if (engine.rank() == 0) count = engine.stats().order.buckets;
      all.arrive_and_wait();
    }, options);
    return count;
  };
  constexpr std::int64_t kBytes = kPlanElements * sizeof(float);
  EXPECT_EQ(buckets("wfbp", 1 << 20), kPlanTensors);
  EXPECT_EQ(buckets("groups", 1 << 20), kPlanTensors);
  EXPECT_EQ(buckets("single", 1), 1u);
  EXPECT_EQ(buckets("threshold", 4 * kBytes), kPlanTensors / 4);
  EXPECT_EQ(buckets("threshold", 0), kPlanTensors);
  EXPECT_GE(buckets("merged", 4 * kBytes), kPlanTensors / 4);
  EXPECT_EQ(buckets("merged", 0), kPlanTensors);
}

TEST(PlansLive, TheReportSaysWhyNothingIsPlanned) {
  run_ranks(kPlanRanks, [&](Engine& engine) {
    std::vector<float> data(4, 1);
    for (int i = 0; i < 12; ++i) {
      Ticket fixed = engine.allreduce<float>("fixed", data, {.op = ReduceOp::max});
      ASSERT_TRUE(fixed.wait().ok());
      ASSERT_TRUE(engine.allreduce<float>(cat("new.", i), data, {.op = ReduceOp::max}).wait().ok());
    }
    const OrderReport order = engine.stats().order;
    EXPECT_FALSE(order.planned);
    EXPECT_EQ(order.plans, 0u);
    EXPECT_THAT(order.reason, HasSubstr("was not in the iteration before"));
    EXPECT_THAT(order.reason, HasSubstr("'new."));
  }, planned_by("merged"));
}

TEST(PlansLive, TheReportSaysWhyAPlanEnded) {
  std::barrier<> all(kPlanRanks);
  run_ranks(kPlanRanks, [&](Engine& engine) {
    PlanSteps steps(engine);
    steps.until_planned();
    EXPECT_TRUE(engine.stats().order.planned) << engine.stats().order.reason;
    all.arrive_and_wait();
    std::vector<float> data(4, 1);
    ASSERT_TRUE(engine.allreduce<float>("stranger", data, {.op = ReduceOp::max}).wait().ok());
    const OrderReport order = engine.stats().order;
    EXPECT_FALSE(order.planned);
    EXPECT_GE(order.plans_ended, 1u);
    EXPECT_THAT(order.reason, HasSubstr("the last plan ended after"));
  }, planned_by("merged"));
}

Graph step_graph(std::size_t last = kPlanTensors) {
  Graph graph;
  for (std::size_t t = 0; t < last; ++t) {
    graph.nodes.push_back({.name = cat("t", t), .sum = true, .shape = {kPlanElements},
                           .settings = {.op = ReduceOp::sum}});
    graph.fetches.push_back(static_cast<std::uint32_t>(t));
  }
  return graph;
}

TEST(PlansLive, AGivenGraphIsFollowedFromTheFirstStep) {
  Options options = planned_by("merged");
  options.order = "cache";
  std::barrier<> all(kPlanRanks);
  run_ranks(kPlanRanks, [&](Engine& engine) {
    const Status followed = engine.follow_graph(step_graph());
    ASSERT_TRUE(followed.ok()) << followed.to_string();
    PlanSteps steps(engine);
    for (int i = 0; i < 2; ++i) steps.one();
    const OrderReport order = engine.stats().order;
    EXPECT_TRUE(order.planned) << order.reason;
    EXPECT_EQ(order.plans_ended, 0u);
    all.arrive_and_wait();
    // What is not in the graph is negotiated, and nothing is lost.
    std::vector<float> data(4, 1);
    ASSERT_TRUE(engine.allreduce<float>("stranger", data, {.op = ReduceOp::max}).wait().ok());
    for (int i = 0; i < 20; ++i) steps.one();
  }, options);
}

TEST(PlansLive, GraphsThatDifferOrAreWrongFailOnEveryRank) {
  run_ranks(kPlanRanks, [&](Engine& engine) {
    const bool odd = engine.rank() == 1;
    const Status differ = engine.follow_graph(step_graph(odd ? 3 : 4));
    EXPECT_EQ(differ.code(), Code::mismatch) << differ.to_string();
    Graph graph = step_graph();
    if (odd) graph.nodes[2].inputs = {77};
    const Status bad = engine.follow_graph(graph);
    EXPECT_FALSE(bad.ok());
    EXPECT_THAT(bad.to_string(), HasSubstr(odd ? "'t2' needs node 77" : "of another rank is wrong"));
    PlanSteps steps(engine);
    for (int i = 0; i < 5; ++i) steps.one();
  }, planned_by("merged"));
}

TEST(PlansLive, OtherStrategiesSayThatTheyNegotiate) {
  Options options = planned_by("merged");
  options.order = "cache";
  run_ranks(kPlanRanks, [&](Engine& engine) {
    PlanSteps steps(engine);
    for (int i = 0; i < 3; ++i) steps.one();
    const OrderReport order = engine.stats().order;
    EXPECT_EQ(order.strategy, "cache");
    EXPECT_FALSE(order.planned);
    EXPECT_THAT(order.reason, HasSubstr("negotiates every step"));
  }, options);
}

}  // namespace
}  // namespace unisono::engine
