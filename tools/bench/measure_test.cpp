// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/measure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/data/text.hpp"

namespace unisono::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Says how long its calls took, and does nothing.
struct ScriptedContender final : Contender {
  Label name;
  double each_us = 100;
  bool uneven = false;                       // every fifth call takes twice as long
  bool right = true;
  Status refusal;                            // of every set_up
  Status failure;                            // of every block from this seed on
  int fails_from = 1;
  std::vector<std::string>* turns = nullptr;

  const Label& label() const override { return name; }
  Status set_up(const Work&) override { return refusal; }
  Result<Block> run_block(int iterations, int seed) override {
    if (turns != nullptr && seed > 1) turns->push_back(cat(name.impl, seed));
    if (!failure.ok() && seed >= fails_from) return failure;
    Block block;
    for (int i = 0; i < iterations; ++i) {
      block.times_us.push_back(uneven && i % 5 == 0 ? 2 * each_us : each_us);
    }
    block.wall_us = each_us * iterations;
    block.checked = right;
    return block;
  }
  Result<std::string> explain() override { return name.ours() ? why : std::string(); }
  std::string why = "because";
  std::string last_words() const override { return "its last words"; }
};

struct Match {
  BenchSettings settings;
  std::vector<std::unique_ptr<Contender>> contenders;
  std::vector<double> progress;

  Match() {
    settings.sizes = {8};
    settings.dtypes = {DType::f32};
  }
  ScriptedContender& add(const std::string& impl) {
    auto made = std::make_unique<ScriptedContender>();
    made->name = {impl, "auto", "shm"};
    ScriptedContender& contender = *made;
    contenders.push_back(std::move(made));
    return contender;
  }
  Measurement play() {
    return measure(settings, contenders,
                   [&](double done, const std::string&) { progress.push_back(done); });
  }
};

TEST(Quantile, LiesBetweenTheNearestTwo) {
  EXPECT_DOUBLE_EQ(quantile({3, 1, 2}, 0.5), 2);
  EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile({10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}, 0.9), 9);
  EXPECT_DOUBLE_EQ(quantile({0, 10}, 0.1), 1);
}

TEST(Quantile, ReachesFromTheLeastToTheMostAndStandsForItselfAlone) {
  EXPECT_EQ(quantile({5, -1, 7}, 0), -1);
  EXPECT_EQ(quantile({5, -1, 7}, 1), 7);
  EXPECT_EQ(quantile({5}, 0.9), 5);
  EXPECT_EQ(quantile({}, 0.5), 0);
}

TEST(Measure, ARowHasTheTimesOfAllRoundsAndTheBytesReallyMoved) {
  Match match;
  match.settings.sizes = {5};
  match.add("unisono").uneven = true;
  const Measurement measured = match.play();
  ASSERT_EQ(measured.rows.size(), 1U);
  const Row& row = measured.rows[0];
  EXPECT_EQ(row.bytes, 8);
  EXPECT_EQ(row.repetitions, 5);
  EXPECT_EQ(row.iterations, 5 * 500) << "blocks of 50 ms";
  EXPECT_EQ(row.median_us, 100);
  EXPECT_EQ(row.p10_us, 100);
  EXPECT_EQ(row.p90_us, 200);
  EXPECT_TRUE(row.checked);
  EXPECT_THAT(measured.notes, IsEmpty());
  EXPECT_FALSE(measured.ours_failed);
}

TEST(Measure, ABlockHasAFewCallsOfSlowContendersAndNoEndOfFastOnes) {
  Match match;
  match.settings.repetitions = 1;
  match.add("slow").each_us = 1e6;
  match.add("fast").each_us = 0;
  const Measurement measured = match.play();
  ASSERT_EQ(measured.rows.size(), 2U);
  EXPECT_EQ(measured.rows[0].iterations, 3);
  EXPECT_EQ(measured.rows[1].iterations, 20'000);
}

TEST(Measure, ContendersTakeTurnsInRotatingOrderOnTheSameValues) {
  Match match;
  match.settings.repetitions = 3;
  std::vector<std::string> turns;
  for (const char* impl : {"a", "b", "c"}) match.add(impl).turns = &turns;
  EXPECT_EQ(match.play().rows.size(), 3U);
  EXPECT_THAT(turns, ElementsAre("a2", "b2", "c2", "b3", "c3", "a3", "c4", "a4", "b4"));
}

TEST(Measure, RoundsGoOnUntilEachContenderHasHadItsTime) {
  Match match;
  match.settings.min_time_s = 1;
  match.add("unisono");
  const Measurement measured = match.play();
  ASSERT_EQ(measured.rows.size(), 1U);
  EXPECT_EQ(measured.rows[0].repetitions, 20);
}

TEST(Measure, WorkThatAContenderCannotDoIsSkippedAndSaidOnce) {
  Match match;
  match.settings.sizes = {8, 16};
  match.add("unisono");
  match.add("gloo").refusal = Status(Code::unavailable, "no such type");
  const Measurement measured = match.play();
  ASSERT_EQ(measured.rows.size(), 2U);
  EXPECT_EQ(measured.rows[1].label.impl, "unisono");
  EXPECT_THAT(measured.notes, ElementsAre("gloo: no such type"));
  EXPECT_FALSE(measured.ours_failed);
  EXPECT_TRUE(match.contenders[1] != nullptr) << "it may know the next type";
}

TEST(Measure, ABrokenPeerLeavesTheRunAndIsNoFailureOfOurs) {
  for (const int seed : {1, 4}) {
    Match match;
    match.settings.sizes = {8, 16};
    match.add("unisono");
    ScriptedContender& peer = match.add("gloo");
    peer.failure = Status(Code::internal, "it broke");
    peer.fails_from = seed;
    const Measurement measured = match.play();
    ASSERT_EQ(measured.rows.size(), 2U);
    EXPECT_EQ(measured.rows[0].label.impl, "unisono");
    EXPECT_EQ(measured.rows[1].label.impl, "unisono");
    ASSERT_EQ(measured.notes.size(), 1U);
    for (const char* part : {"gloo failed", "it broke", "its last words"}) {
      EXPECT_THAT(measured.notes[0], HasSubstr(part));
    }
    EXPECT_TRUE(match.contenders[1] == nullptr);
    EXPECT_FALSE(measured.ours_failed);
  }
}

TEST(Measure, WhenUnisonoBreaksTheMeasurementHasFailed) {
  Match match;
  match.add("unisono-arena").refusal = Status(Code::internal, "it broke");
  const Measurement measured = match.play();
  EXPECT_TRUE(measured.ours_failed);
  EXPECT_THAT(measured.notes, ElementsAre(HasSubstr("unisono-arena failed at 8: ")));
  EXPECT_THAT(measured.rows, IsEmpty());
}

TEST(Measure, OursExplainsItselfWhenAsked) {
  for (const bool asked : {false, true}) {
    Match match;
    match.settings.explain = asked;
    match.add("unisono");
    match.add("gloo");
    const Measurement measured = match.play();
    ASSERT_EQ(measured.explanations.size(), asked ? 1u : 0u);
    if (asked) { EXPECT_EQ(measured.explanations[0].text, "because"); }
  }
}

TEST(Measure, AWrongResultIsKeptAndNamed) {
  for (const char* impl : {"unisono", "gloo"}) {
    Match match;
    match.add(impl).right = false;
    const Measurement measured = match.play();
    ASSERT_EQ(measured.rows.size(), 1U);
    EXPECT_FALSE(measured.rows[0].checked);
    EXPECT_THAT(measured.notes, ElementsAre(cat(impl, ": WRONG RESULT at 8")));
    EXPECT_EQ(measured.ours_failed, impl == std::string("unisono"));
  }
}

TEST(Measure, ProgressNeverGoesBack) {
  Match match;
  match.settings.sizes = {8, 16};
  match.settings.min_time_s = 0.4;           // more rounds than were asked for
  match.add("unisono");
  EXPECT_EQ(match.play().rows.size(), 2U);
  EXPECT_TRUE(std::is_sorted(match.progress.begin(), match.progress.end()));
  EXPECT_EQ(match.progress.front(), 0);
  EXPECT_LE(match.progress.back(), 1);
}

}  // namespace
}  // namespace unisono::tools
