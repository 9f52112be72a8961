// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/topo/learn/iteration_learner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/data/rng.hpp"
#include "order/testing/virtual_net.hpp"

namespace unisono::order {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// One member's program and what is answered, move by move.
class Watcher {
 public:
  void submit(const std::string& name) { learn.submitted(tensor_request(name), Time{0}); }
  void answer(const std::vector<Request>& tensors) {
    Response response;
    response.sequence = next_++;
    response.tensors = tensors;
    for (const Request& tensor : tensors) answered_as_[tensor.name] = response.sequence;
    equal = std::max(equal, learn.answered(response));
  }
  void answer(const std::string& name) { answer({tensor_request(name)}); }
  void look(const std::string& name) { learn.observed(answered_as_.at(name)); }

  IterationLearner learn{2, true};
  int equal = 0;

 private:
  std::uint64_t next_ = 7;
  std::map<std::string, std::uint64_t> answered_as_;
};

TEST(IterationLearner, WhatMerelyEndedEarlierIsNotNeeded) {
  Watcher w;
  for (int i = 0; i < 3; ++i) {
    for (const char* name : {"a", "b", "c"}) {
      w.submit(name);
      w.answer(name);
    }
  }
  EXPECT_EQ(w.equal, 2);
  EXPECT_THAT(w.learn.lesson(1).needs, ElementsAre(IsEmpty(), IsEmpty(), IsEmpty()));
}

TEST(IterationLearner, OnlyWhatWasLookedAtIsNeeded) {
  Watcher w;
  for (int i = 0; i < 3; ++i) {
    for (const char* name : {"a", "b", "c"}) {
      w.submit(name);
      w.answer(name);
    }
    w.look("c");
    w.look("c");
    w.submit("d");
    w.answer("d");
    w.look("a");
    w.submit("e");
    w.answer("e");
  }
  EXPECT_THAT(w.learn.lesson(1).needs, ElementsAre(IsEmpty(), IsEmpty(), IsEmpty(),
                                                   ElementsAre(2, 3), ElementsAre(0, 1, 2, 3)));
}

TEST(IterationLearner, WhatWasLookedAtOnceIsNotNeededAlways) {
  Watcher w;
  for (int i = 0; i < 4; ++i) {
    w.submit("a");
    w.answer("a");
    if (i % 2 == 0) w.look("a");
    w.submit("b");
    w.answer("b");
  }
  EXPECT_THAT(w.learn.lesson(1).needs, ElementsAre(IsEmpty(), IsEmpty()));
}

TEST(IterationLearner, ALookAtThePreviousIterationSaysNothing) {
  Watcher w;
  for (int i = 0; i < 4; ++i) {
    for (const char* name : {"a", "b"}) w.submit(name);
    for (const char* name : {"a", "b"}) w.answer(name);
    for (const char* name : {"a", "b"}) w.look(name);
  }
  EXPECT_THAT(w.learn.lesson(1).needs, ElementsAre(IsEmpty(), IsEmpty()));
}

TEST(IterationLearner, AGroupIsNeededThroughAnyOfItsTensorsAndSubmittedWithItsLast) {
  Watcher w;
  for (int i = 0; i < 3; ++i) {
    const auto first = group_request("g", {"m", "n"}), second = group_request("h", {"x", "y"});
    for (const Request& request : first) w.learn.submitted(request, Time{0});
    w.learn.submitted(second[0], Time{0});
    w.answer(first);
    w.look("n");
    w.learn.submitted(second[1], Time{0});
    w.answer(second);
  }
  EXPECT_THAT(w.learn.lesson(1).needs, ElementsAre(IsEmpty(), ElementsAre(0, 1)));
}

Lesson lesson_of(std::vector<std::vector<std::uint32_t>> needs) {
  std::vector<std::uint64_t> ready(needs.size(), 7);
  return {3, 4, std::move(needs), std::move(ready)};
}

TEST(IterationLearner, AUnitIsReadyAtTheMedianOfItsIterationsAndOfMembersWithTheLast) {
  Watcher w;
  const auto iteration = [&](std::uint64_t begin_ns, std::uint64_t b_ns) {
    const auto at = [&](std::uint64_t ns) {
      return Time{} + Nanos(static_cast<std::int64_t>(begin_ns + ns));
    };
    w.learn.submitted(tensor_request("a"), at(0));
    w.learn.submitted(tensor_request("b"), at(b_ns));
    w.answer("a");
    w.answer("b");
  };
  for (const std::uint64_t b_ns : {900, 300, 100, 0}) iteration(5000 * (b_ns + 1), b_ns);
  Lesson lesson = w.learn.lesson(3);
  EXPECT_EQ(lesson.ready_ns, (std::vector<std::uint64_t>{0, 300}));
  Lesson other = lesson;
  other.ready_ns = {50, 200};
  ASSERT_TRUE(lesson.merge(other));
  EXPECT_EQ(lesson.ready_ns, (std::vector<std::uint64_t>{50, 300}));
}

TEST(TopoLesson, UnitesWhatAnyMemberNeeds) {
  Rng rng(5);
  for (int round = 0; round < 200; ++round) {
    constexpr std::size_t kUnits = 40;
    std::vector<std::set<std::size_t>> sets(2);
    std::vector<Lesson> lessons;
    for (auto& set : sets) {
      std::vector<std::uint32_t> runs;
      for (std::uint32_t at = static_cast<std::uint32_t>(rng.below(9)); at < kUnits;) {
        const auto end =
            std::min<std::uint32_t>(kUnits, at + 1 + static_cast<std::uint32_t>(rng.below(5)));
        runs.insert(runs.end(), {at, end});
        for (std::uint32_t unit = at; unit < end; ++unit) set.insert(unit);
        at = end + 1 + static_cast<std::uint32_t>(rng.below(7));
      }
      lessons.push_back(lesson_of(std::vector<std::vector<std::uint32_t>>(kUnits)));
      lessons.back().needs[9] = runs;
    }
    ASSERT_TRUE(lessons[0].merge(lessons[1]));
    for (std::size_t unit = 0; unit < kUnits; ++unit) {
      EXPECT_EQ(lessons[0].edge(unit, 9), sets[0].contains(unit) || sets[1].contains(unit));
    }
    ByteWriter out;
    lessons[0].encode(out);
    ByteReader in(out.bytes());
    EXPECT_EQ(Lesson::decode(in).needs, lessons[0].needs);
    EXPECT_TRUE(in.finished());
  }
}

TEST(TopoLesson, DoesNotMergeWithALessonOfOtherUnits) {
  Lesson lesson = lesson_of({{}, {0, 1}});
  EXPECT_FALSE(lesson.merge(lesson_of({{}})));
  Lesson other = lesson_of({{}, {}});
  other.digest = 5;
  EXPECT_FALSE(lesson.merge(other));
}

TEST(TopoLesson, RefusesRunsThatAreNone) {
  for (const std::vector<std::uint32_t>& runs :
       {std::vector<std::uint32_t>{0}, {1, 1}, {2, 1}, {0, 3}, {0, 2, 1, 2}, {0, 1, 1, 2}}) {
    ByteWriter out;
    lesson_of({{}, runs}).encode(out);
    ByteReader in(out.bytes());
    Lesson::decode(in);
    EXPECT_FALSE(in.finished());
  }
}

TEST(TopoLesson, TooManyRunsBecomeOneForEachUnit) {
  constexpr std::uint32_t kUnits = 1200;
  std::vector<std::vector<std::uint32_t>> needs(kUnits);
  for (auto& runs : needs) {
    for (std::uint32_t at = 1; at + 2 < kUnits; at += 3) runs.insert(runs.end(), {at, at + 1});
  }
  Lesson lesson = lesson_of(std::move(needs));
  lesson.shorten();
  EXPECT_THAT(lesson.needs[7], ElementsAre(1u, 1196u));
  EXPECT_TRUE(lesson.edge(3, 7));
}

}  // namespace
}  // namespace unisono::order
