// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/pacing/lockstep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "order/testing/seeds.hpp"
#include "order/testing/virtual_net.hpp"

namespace unisono::order {
namespace {

using testing::HasSubstr;

constexpr Nanos kCycle{5'000'000};

OrderSettings paced(const char* pacing, int radix = 16) {
  OrderSettings settings;
  settings.pacing = pacing;
  settings.cycle = kCycle;
  settings.tree_radix = radix;
  return settings;
}

void run_cycles(VirtualNet& net, int cycles) {
  for (int i = 0; i < cycles; ++i) {
    net.settle();
    net.advance(kCycle);
  }
  net.settle();
}

class PacedOrder : public testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  const char* strategy() const { return std::get<0>(GetParam()); }
  const char* pacing() const { return std::get<1>(GetParam()); }
};

TEST_P(PacedOrder, RandomSubmissionsGiveOneLogWithOneSetOfRounds) {
  for (std::uint64_t seed = 0; seed < affordable_seeds(60); ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    Rng rng(seed * 104729 + 5);
    const int members = 1 + static_cast<int>(rng.below(40));
    const int radix = 1 + static_cast<int>(rng.below(6));
    VirtualNet net(strategy(), members, seed, paced(pacing(), radix));
    const int tensors = 1 + static_cast<int>(rng.below(20));
    for (int step = 0; step < 3; ++step) {
      std::vector<std::pair<int, int>> todo;
      for (int m = 0; m < members; ++m) {
        for (int t = 0; t < tensors; ++t) todo.emplace_back(m, t);
      }
      rng.shuffle(todo);
      for (const auto& [member, tensor] : todo) {
        net.submit(member, tensor_request(cat("t", tensor)));
        net.shake(static_cast<int>(rng.below(4)));
        if (rng.below(8) == 0) net.advance(kCycle / 3);
      }
      run_cycles(net, 3);
    }
    ASSERT_TRUE(net.faults.empty()) << net.faults.front().to_string();
    for (int i = 0; i < members; ++i) {
      ASSERT_EQ(net.log(i), net.log(0)) << "member " << i;
      ASSERT_EQ(net.at(i).waiting(), 0u);
    }
    ASSERT_EQ(net.flat(0).size(), static_cast<std::size_t>(3 * tensors));
  }
}

TEST_P(PacedOrder, AMemberThatLeavesEndsTheRoundsAndFailsWhatNeedsIt) {
  VirtualNet net(strategy(), 9, 3, paced(pacing(), 2));
  run_cycles(net, 2);
  for (int i = 0; i < 8; ++i) net.submit(i, tensor_request("x"));
  net.settle();
  net.leave(8);
  run_cycles(net, 3);
  ASSERT_TRUE(net.faults.empty()) << net.faults.front().to_string();
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(net.at(i).waiting(), 0u) << "member " << i;
    ASSERT_FALSE(net.flat(i).empty());
    for (const Response& r : net.flat(i)) EXPECT_EQ(r.error.code(), Code::peer_left);
  }
}

TEST_P(PacedOrder, GivesUpWhatWasNotAnsweredInOrderOfSubmission) {
  VirtualNet net(strategy(), 3, 1, paced(pacing()));
  net.submit(1, tensor_request("b"));
  run_cycles(net, 1);
  net.submit(1, tensor_request("a"));
  EXPECT_EQ(net.at(1).waiting(), 2u);
  const std::vector<Request> back = net.at(1).release();
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].name, "b");
  EXPECT_EQ(back[1].name, "a");
}

INSTANTIATE_TEST_SUITE_P(All, PacedOrder,
                         testing::Combine(testing::ValuesIn(kOrderStrategies),
                                          testing::Values("cycle", "gs", "nbcs")),
                         [](const auto& each) {
                           return cat(std::get<0>(each.param), "_", std::get<1>(each.param));
                         });

TEST(Lockstep, IdleMembersStillSendOneWaveUpAndOneDownPerRound) {
  VirtualNet net("coordinator", 14, 0, paced("cycle", 3));
  run_cycles(net, 9);
  EXPECT_EQ(net.messages_sent, 10u * 2 * 13);
}

TEST(Lockstep, RequestsBetweenRoundsWaitForTheNextOne) {
  VirtualNet net("coordinator", 2, 0, paced("cycle"));
  net.settle();
  net.advance(kCycle / 2);
  net.submit_all(tensor_request("x"));
  net.settle();
  EXPECT_TRUE(net.flat(0).empty());
  net.advance(kCycle / 2);
  net.settle();
  EXPECT_EQ(net.flat(0).size(), 1u);
  EXPECT_EQ(net.flat(1).size(), 1u);
}

TEST(Lockstep, UnknownPacingMakesNoOrder) {
  const RankList ranks{0, 1};
  EXPECT_EQ(make_order("coordinator", Members::of(ranks, 0), paced("sometimes")), nullptr);
  EXPECT_EQ(find_pacing("sometimes"), nullptr);
}

// Two members and the wave between them, moved by hand.
class Pair {
 public:
  explicit Pair(const char* pacing) {
    const RankList ranks{0, 1};
    for (int i = 0; i < 2; ++i) {
      auto inner = make_order("coordinator", Members::of(ranks, i), {});
      sides_.push_back(make_lockstep(std::move(inner), Members::of(ranks, i), paced(pacing)));
    }
  }
  Lockstep& operator[](std::size_t i) { return *sides_[i]; }
  void run(std::size_t i, Time now) {
    OrderOutput out;
    sides_[i]->negotiate(now, out);
    for (const OrderMessage& m : out.messages) {
      ASSERT_TRUE(sides_[static_cast<std::size_t>(m.to)]
                      ->receive(static_cast<Rank>(i), m.bytes, now).ok());
    }
  }
  // One round in which the members enter late0 and late1 after their deadlines.
  void round(Nanos late0, Nanos late1) {
    const Time t0 = std::max(sides_[0]->deadline(), now_) + late0;
    const Time t1 = std::max(sides_[1]->deadline(), now_) + late1;
    begins = {t0, t1};
    now_ = std::max(t0, t1);
    run(t0 <= t1 ? 0 : 1, std::min(t0, t1));
    run(t0 <= t1 ? 1 : 0, now_);
    for (std::size_t i = 0; i < 2; ++i) {
      if (sides_[i]->in_round()) run(i, now_);
    }
  }
  std::array<Time, 2> begins{};

 private:
  std::vector<std::unique_ptr<Lockstep>> sides_;
  Time now_{0};
};

TEST(Lockstep, UnderCycleAnOffsetNeverDecays) {
  Pair pair("cycle");
  pair.round({}, {});
  pair.round({}, Nanos(10'000'000));
  for (int i = 0; i < 100; ++i) {
    pair.round({}, {});
    EXPECT_GT(pair[0].last_round(), Nanos(4'000'000)) << "round " << i;
    EXPECT_EQ(pair[1].last_round(), Nanos(0)) << "round " << i;
  }
}

TEST(Lockstep, UnderGlobalSleepAnOffsetIsGoneAfterOneRound) {
  for (const std::size_t late : {0u, 1u}) {
    Pair pair("gs");
    pair.round({}, {});
    pair.round(Nanos(late == 0 ? 10'000'000 : 0), Nanos(late == 1 ? 10'000'000 : 0));
    EXPECT_EQ(pair[1 - late].last_round(), Nanos(10'000'000));
    for (int i = 0; i < 20; ++i) {
      pair.round({}, {});
      EXPECT_EQ(pair.begins[0], pair.begins[1]);
      EXPECT_EQ(pair[0].last_round(), Nanos(0));
    }
  }
}

TEST(Lockstep, TheWaveCarriesTheShortestSleepAnyoneWants) {
  Pair pair("gs");
  pair.round({}, {});
  pair.round(Nanos(2'000'000), {});     // member 1 has been in the round for 2 ms of its 5
  EXPECT_EQ(pair[0].deadline() - pair.begins[0], Nanos(3'000'000));
  EXPECT_EQ(pair[1].deadline(), pair[0].deadline());
}

TEST(Lockstep, SpinsInARoundExceptUnderNbcs) {
  for (const char* pacing : {"cycle", "gs", "nbcs"}) {
    Pair pair(pacing);
    EXPECT_FALSE(pair[0].blocking());
    pair.run(0, Time{1});               // member 1 has not entered
    EXPECT_TRUE(pair[0].in_round());
    EXPECT_EQ(pair[0].blocking(), find_pacing(pacing)->spins);
    EXPECT_EQ(pair[0].deadline(), kNever);
    pair.run(1, Time{9});
    pair.run(0, Time{9});
    EXPECT_FALSE(pair[0].blocking());
    EXPECT_EQ(pair[0].last_round(), Nanos(8));
  }
}

TEST(Lockstep, RefusesWavesThatCannotBe) {
  const RankList ranks{0, 1, 2, 3};
  const auto make = [&](Rank self) {
    const Members members = Members::of(ranks, self);
    return make_lockstep(make_coordinator(members, {}), members, paced("cycle", 1));
  };
  const auto refused = [&](Rank self, Rank from, std::vector<std::byte> bytes) {
    return make(self)->receive(from, bytes, Time{0}).message();
  };
  const auto up = encode_wave(WaveKind::up, 0, Nanos(0), {});
  EXPECT_THAT(refused(0, 7, up), HasSubstr("not a member"));
  EXPECT_THAT(refused(0, 2, up), HasSubstr("only children"));
  EXPECT_THAT(refused(0, 1, encode_wave(WaveKind::up, 4, Nanos(0), {})),
              HasSubstr("another round"));
  EXPECT_THAT(refused(2, 0, encode_wave(WaveKind::down, 0, Nanos(0), {})), HasSubstr("the parent"));
  EXPECT_THAT(refused(2, 1, encode_wave(WaveKind::down, 0, Nanos(0), {})),
              HasSubstr("another round"));
  EXPECT_THAT(refused(0, 1, {}), HasSubstr("could not be read"));
  Rng rng(11);
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::byte> noise(rng.below(40));
    for (std::byte& b : noise) b = static_cast<std::byte>(rng());
    if (!noise.empty()) noise[0] = static_cast<std::byte>(rng.below(5));
    static_cast<void>(make(0)->receive(1, noise, Time{0}));
  }
}

}  // namespace
}  // namespace unisono::order
