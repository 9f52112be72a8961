// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What every planner promises. A planner joins by its row in planner_table().
#include <gtest/gtest.h>

#include <map>

#include "base/data/rng.hpp"
#include "base/data/text.hpp"
#include "plan/planner.hpp"

#include "model/options/choices.hpp"

namespace unisono::plan {
namespace {

Request tensor(std::string name, std::int64_t elements) {
  Request request;
  request.name = std::move(name);
  request.shape = {elements};
  return request;
}

Response response(std::vector<Request> tensors) {
  Response r;
  for (Request& t : tensors) {
    t.group_size = t.group.empty() ? 0 : static_cast<std::uint32_t>(tensors.size());
    if (t.kind == Collective::allgather) r.extents.push_back({1, 2});
  }
  if (!r.extents.empty()) r.extents.resize(tensors.size());
  r.tensors = std::move(tensors);
  return r;
}

std::vector<Response> number(std::vector<Response> round) {
  for (std::size_t i = 0; i < round.size(); ++i) round[i].sequence = i;
  return round;
}

std::vector<Response> random_round(Rng& rng) {
  std::vector<Response> round;
  const auto count = rng.below(40);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::vector<Request> tensors;
    const bool group = rng.below(4) == 0;
    const auto size = group ? 1 + rng.below(5) : 1;
    const bool uniform = rng.below(2) == 0;
    for (std::uint64_t k = 0; k < size; ++k) {
      Request t = tensor(cat("t", i, ".", k), static_cast<std::int64_t>(rng.below(300)));
      if (group) t.group = cat("g", i);
      if (!uniform || k == 0) {
        t.dtype = rng.below(3) == 0 ? DType::f64 : DType::f32;
        t.op = rng.below(4) == 0 ? ReduceOp::max : ReduceOp::sum;
        t.prescale = rng.below(5) == 0 ? 0.5 : 1.0;
        t.codec = rng.below(5) == 0 ? "fp16" : "";
        if (rng.below(8) == 0) t.kind = Collective::broadcast;
      } else {
        const Request& first = tensors.front();
        t.dtype = first.dtype, t.op = first.op, t.prescale = first.prescale;
        t.codec = first.codec, t.kind = first.kind;
      }
      tensors.push_back(std::move(t));
    }
    Response r = response(std::move(tensors));
    if (rng.below(8) == 0) r.absent = {1};
    if (rng.below(10) == 0) r.error = Status(Code::mismatch, "no");
    round.push_back(std::move(r));
  }
  return number(std::move(round));
}

std::string text(const Plan& plan) {
  std::string out;
  for (const Bucket& bucket : plan.buckets) {
    out += cat(bucket.id, ":");
    for (const Response& r : bucket.responses) {
      for (const Request& t : r.tensors) out += cat(" ", t.name);
    }
    out += "\n";
  }
  return out;
}

class PlannerContract : public testing::TestWithParam<PlannerRow> {
 protected:
  std::unique_ptr<Planner> make(PlannerSettings settings = {}) const {
    return make_planner(GetParam().name, settings);
  }
};

TEST_P(PlannerContract, IsInTheTableUnderItsOwnName) {
  ASSERT_NE(make(), nullptr);
  EXPECT_EQ(make()->name(), GetParam().name);
  EXPECT_FALSE(GetParam().about.empty());
}

TEST_P(PlannerContract, EmptyRoundGivesEmptyPlan) {
  EXPECT_TRUE(make()->plan({}, 7).buckets.empty());
}

void expect_alike(const Bucket& bucket) {
  const Response& first = bucket.responses.front();
  for (const Response& r : bucket.responses) {
    EXPECT_EQ(r.absent, first.absent);
    EXPECT_TRUE(r.error.ok() || bucket.responses.size() == 1);
    if (!r.error.ok()) continue;
    for (const Request& t : r.tensors) {
      const Request& one = first.tensors.front();
      EXPECT_EQ(t.kind, bucket.kind);
      EXPECT_EQ(t.dtype, bucket.dtype);
      EXPECT_EQ(t.op, bucket.op);
      EXPECT_EQ(t.prescale, one.prescale);
      EXPECT_EQ(t.codec, one.codec);
    }
    if (bucket.kind != Collective::allreduce) {
      EXPECT_EQ(bucket.responses.size(), 1u);
      EXPECT_EQ(r.tensors.size(), 1u);
    }
  }
}

TEST_P(PlannerContract, RandomRoundsKeepTheRules) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    Rng rng(seed);
    const PlannerSettings settings{static_cast<std::int64_t>(rng.below(6000)), rng.below(2) == 0};
    const auto round = random_round(rng);
    const Plan plan = make(settings)->plan(round, 100);
    EXPECT_EQ(text(plan), text(make(settings)->plan(round, 100)));

    std::map<std::string, int> seen;
    std::uint64_t id = 100;
    std::uint64_t first_before = 0;
    for (const Bucket& bucket : plan.buckets) {
      EXPECT_EQ(bucket.id, id++);
      ASSERT_FALSE(bucket.responses.empty());
      EXPECT_GE(bucket.responses.front().sequence, first_before);
      first_before = bucket.responses.front().sequence;
      expect_alike(bucket);
      std::size_t bytes = 0;
      std::uint64_t before = 0;
      for (const Response& r : bucket.responses) {
        EXPECT_GE(r.sequence, before);
        before = r.sequence;
        const bool grouped = !r.tensors.front().group.empty();
        if (grouped && !settings.fuse_groups) {
          EXPECT_EQ(bucket.responses.size(), 1u);
        }
        for (const Request& t : r.tensors) {
          ++seen[t.name];
          bytes += t.bytes();
        }
      }
      EXPECT_EQ(bucket.bytes, bytes);
    }
    std::size_t expected = 0;
    for (const Response& r : round) {
      for (const Request& t : r.tensors) {
        ++expected;
        EXPECT_EQ(seen[t.name], 1) << t.name;
      }
    }
    EXPECT_EQ(seen.size(), expected);
  }
}

TEST_P(PlannerContract, AlikeGroupStaysInOneBucket) {
  std::vector<Request> tensors;
  for (int i = 0; i < 5; ++i) {
    tensors.push_back(tensor(cat("t", i), 1000));
    tensors.back().group = "g";
  }
  const Plan plan = make({.fusion_bytes = 64})->plan(number({response(tensors)}), 0);
  ASSERT_EQ(plan.buckets.size(), 1u);
  EXPECT_EQ(plan.buckets[0].responses.at(0).tensors.size(), 5u);
}

TEST_P(PlannerContract, PlannedResponseIsOneBucketAndKeepsItsVote) {
  Response planned = response({tensor("a", 10), tensor("b", 20)});
  planned.planned = true;
  planned.vote = PlanVote::abort;
  const Plan plan = make()->plan({planned}, 0);
  ASSERT_EQ(plan.buckets.size(), 1u);
  const Response& kept = plan.buckets[0].responses.front();
  EXPECT_TRUE(kept.planned);
  EXPECT_EQ(kept.vote, PlanVote::abort);
}

TEST_P(PlannerContract, GroupOfAllgathersGivesOneBucketEachWithItsExtents) {
  std::vector<Request> tensors = {tensor("a", 1), tensor("b", 2)};
  for (Request& t : tensors) t.kind = Collective::allgather, t.group = "g";
  const Plan plan = make()->plan(number({response(tensors)}), 0);
  ASSERT_EQ(plan.buckets.size(), 2u);
  for (const Bucket& bucket : plan.buckets) {
    EXPECT_EQ(bucket.responses.at(0).extents.size(), 1u);
    EXPECT_EQ(bucket.responses.at(0).sequence, 0u);
  }
}

TEST_P(PlannerContract, FailedGroupKeepsItsErrorInOneBucket) {
  std::vector<Request> tensors = {tensor("a", 1), tensor("b", 2)};
  tensors[1].dtype = DType::f64;
  for (Request& t : tensors) t.group = "g";
  auto round = number({response(tensors)});
  round[0].error = Status(Code::stalled, "late");
  const Plan plan = make()->plan(round, 0);
  ASSERT_EQ(plan.buckets.size(), 1u);
  EXPECT_EQ(plan.buckets[0].responses.at(0).error.code(), Code::stalled);
}

INSTANTIATE_TEST_SUITE_P(All, PlannerContract,
                         testing::ValuesIn(planner_table().begin(), planner_table().end()),
                         [](const auto& param) { return std::string(param.param.name); });

TEST(PlannerChoices, EachIsMadeUnderItsOwnName) {
  for (const OptionChoice& choice : kPlannerChoices) {
    const auto planner = make_planner(choice.name, {});
    ASSERT_NE(planner, nullptr) << choice.name;
    EXPECT_EQ(planner->name(), choice.name);
  }
}

std::vector<std::size_t> sizes(const Plan& plan) {
  std::vector<std::size_t> out;
  for (const Bucket& bucket : plan.buckets) out.push_back(bucket.responses.size());
  return out;
}

std::vector<Response> four_tensors() {
  std::vector<Response> round;
  for (const std::int64_t n : {10, 10, 100, 10}) {
    round.push_back(response({tensor(cat("t", round.size()), n)}));
  }
  return number(std::move(round));
}

TEST(Planner, UnknownNameIsNull) { EXPECT_EQ(make_planner("best", {}), nullptr); }

TEST(Threshold, StartsNewBucketWhenBytesExceedLimit) {
  const Plan plan = make_planner("threshold", {.fusion_bytes = 80})->plan(four_tensors(), 0);
  EXPECT_EQ(sizes(plan), (std::vector<std::size_t>{2, 1, 1}));
}

TEST(Threshold, FillsPastTensorsOfAnotherKind) {
  auto round = four_tensors();
  round[1].tensors[0].dtype = DType::f64;
  const Plan plan = make_planner("threshold", {})->plan(round, 0);
  EXPECT_EQ(sizes(plan), (std::vector<std::size_t>{3, 1}));
}

TEST(Threshold, FusesGroupsWithOthersOnlyWhenAsked) {
  auto round = four_tensors();
  round[1].tensors[0].group = "g";
  EXPECT_EQ(sizes(make_planner("threshold", {})->plan(round, 0)),
            (std::vector<std::size_t>{3, 1}));
  EXPECT_EQ(sizes(make_planner("threshold", {.fuse_groups = true})->plan(round, 0)),
            (std::vector<std::size_t>{4}));
}

TEST(Wfbp, GivesEachTensorItsBucket) {
  EXPECT_EQ(sizes(make_planner("wfbp", {})->plan(four_tensors(), 0)),
            (std::vector<std::size_t>{1, 1, 1, 1}));
}

TEST(Single, FusesEverythingAlikeWhateverItsSize) {
  EXPECT_EQ(sizes(make_planner("single", {.fusion_bytes = 1})->plan(four_tensors(), 0)),
            (std::vector<std::size_t>{4}));
}

TEST(Groups, LeavesUngroupedTensorsAlone) {
  EXPECT_EQ(sizes(make_planner("groups", {})->plan(four_tensors(), 0)),
            (std::vector<std::size_t>{1, 1, 1, 1}));
}

}  // namespace
}  // namespace unisono::plan
