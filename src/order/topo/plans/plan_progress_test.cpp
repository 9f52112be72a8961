// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/topo/plans/plan_progress.hpp"

#include <gtest/gtest.h>

#include "order/testing/virtual_net.hpp"
#include "order/topo/plans/plan_library.hpp"

namespace unisono::order {
namespace {

std::shared_ptr<const TopoPlan> plan_of(const std::vector<std::string>& names) {
  std::vector<std::vector<Request>> buckets;
  for (const std::string& name : names) buckets.push_back({tensor_request(name)});
  return std::make_shared<const TopoPlan>(std::move(buckets));
}

Response answer(const std::string& name, Shape shape = {4}) {
  Response response;
  response.tensors = {tensor_request(name, std::move(shape))};
  return response;
}

class Progress : public testing::Test {
 protected:
  Progress() { progress_.restart({train_, test_}); }
  bool hear(const std::string& name) { return progress_.answered(answer(name)).known; }

  std::shared_ptr<const TopoPlan> train_ = plan_of({"a", "b"}), test_ = plan_of({"t"});
  PlanProgress progress_;
};

TEST_F(Progress, IsLevelBetweenIterationsOfAllPlans) {
  EXPECT_TRUE(hear("b"));
  EXPECT_FALSE(progress_.level());
  EXPECT_TRUE(hear("a"));
  EXPECT_TRUE(progress_.level());
  EXPECT_TRUE(hear("t"));
  EXPECT_EQ(progress_.matched(), 2u);
}

TEST_F(Progress, CountsOnlyIterationsSinceAnythingElse) {
  hear("t");
  EXPECT_FALSE(hear("x"));
  EXPECT_EQ(progress_.matched(), 0u);
  hear("a");
  hear("b");
  EXPECT_EQ(progress_.matched(), 1u);
  hear("a");
  hear("x");
  hear("b");
  EXPECT_TRUE(progress_.level());
  EXPECT_EQ(progress_.matched(), 0u);
}

TEST_F(Progress, AnIterationWithoutARankThatJoinedDoesNotCount) {
  hear("a");
  Response response = answer("b");
  response.absent = {1};
  EXPECT_TRUE(progress_.answered(response).known);
  EXPECT_TRUE(progress_.level());
  EXPECT_EQ(progress_.matched(), 0u);
}

TEST_F(Progress, GoesOnWhereAPlanWasLeft) {
  progress_.has_run(*train_, 1);
  EXPECT_FALSE(progress_.level());
  EXPECT_TRUE(hear("b"));
  EXPECT_TRUE(progress_.level());
}

TEST_F(Progress, ARepeatedChangedOrFailedTensorBreaksItsPlan) {
  hear("a");
  EXPECT_EQ(progress_.answered(answer("a")).broken.size(), 1u);
  progress_.restart({train_, test_});
  EXPECT_EQ(progress_.answered(answer("t", {5})).broken.front(), test_);
  progress_.restart({train_, test_});
  Response failed = answer("b");
  failed.error = Status(Code::mismatch, "");
  EXPECT_EQ(progress_.answered(failed).broken.front(), train_);
}

// A group fails under its own name. Members that have submitted it again do not fail, but they know
// as well as the others that its plan is no more.
TEST_F(Progress, AFailureThatSparesThisMemberBreaksThePlanAllTheSame) {
  Response failed;
  failed.error = Status(Code::stalled, "", {.rank = -1, .host = {}, .pid = 0, .tensor = "g"});
  failed.spared = {"x", "b"};
  const PlanProgress::Heard heard = progress_.answered(failed);
  ASSERT_EQ(heard.broken.size(), 1u);
  EXPECT_EQ(heard.broken.front(), train_);
  EXPECT_FALSE(heard.known);
}

TEST_F(Progress, SomethingElseWithinTwoIterationsInARowBreaksThePlan) {
  hear("a");
  hear("x");
  hear("b");
  hear("a");
  hear("x");
  EXPECT_EQ(progress_.answered(answer("b")).broken.front(), train_);
  progress_.drop(*train_);
  EXPECT_TRUE(progress_.level());
  EXPECT_FALSE(hear("a"));
}

TEST(PlanLibrary, ALaterPlanTakesThePlaceOfThoseItSharesATensorWith) {
  PlanLibrary library(8);
  library.add(plan_of({"a", "b"}), nullptr);
  library.add(plan_of({"c"}), nullptr);
  library.add(plan_of({"b", "d"}), nullptr);
  ASSERT_EQ(library.size(), 2u);
  EXPECT_EQ(library.plans()[0]->bucket(0).front().name, "c");
}

TEST(PlanLibrary, DropsWhatDidNotRunForLongest) {
  PlanLibrary library(2);
  library.add(plan_of({"a"}), nullptr);
  library.add(plan_of({"b"}), nullptr);
  PlanSlots slots(library.plans(), 0);
  for (const char* name : {"b", "a"}) {
    ASSERT_TRUE(slots.fill(tensor_request(name), 1, Time{}));
    slots.give_out();
    slots.oldest_ended();
  }
  library.ran(slots);
  library.add(plan_of({"c"}), nullptr);
  ASSERT_EQ(library.size(), 2u);
  EXPECT_EQ(library.plans()[0]->bucket(0).front().name, "a");
  EXPECT_EQ(library.report(nullptr)[0].iterations, 1u);
}

TEST(PlanSlots, TheLongestWaitingTensorTellsWhichPlanComesNext) {
  PlanSlots slots({plan_of({"a", "b"}), plan_of({"c"})}, 0);
  EXPECT_FALSE(slots.next_place().has_value());
  EXPECT_EQ(slots.first_missing(), nullptr);
  ASSERT_TRUE(slots.fill(tensor_request("c"), 1, Time{}));
  ASSERT_TRUE(slots.fill(tensor_request("a"), 2, Time{}));
  EXPECT_EQ(slots.give_out().plan, 1u);
  ASSERT_TRUE(slots.fill(tensor_request("c"), 3, Time{}));
  EXPECT_EQ(slots.give_out().plan, 0u);
  EXPECT_FALSE(slots.next_full());          // b, although c is there
  EXPECT_EQ(slots.first_missing()->name, "b");
  ASSERT_TRUE(slots.fill(tensor_request("b"), 4, Time{}));
  slots.give_out();
  EXPECT_EQ(slots.give_out().plan, 1u);
}

}  // namespace
}  // namespace unisono::order
