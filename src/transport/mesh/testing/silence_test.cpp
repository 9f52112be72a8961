// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// When silence makes a peer lost, under virtual time: nothing here sleeps or looks at the clock.
#include <algorithm>
#include <optional>

#include "base/testing/effort.hpp"
#include "base/data/rng.hpp"
#include "transport/testing/test_world.hpp"

namespace unisono::transport {
namespace {
using std::chrono::milliseconds;
using std::chrono::seconds;

// Limits of the mesh that join_lanes makes.
constexpr Nanos kSuspect = seconds(3), kDead = seconds(4);
constexpr Nanos kEvery = milliseconds(500);   // beats come twice per heartbeat_s

class Silence : public testing::TestWithParam<PairLanes (*)(TestRank&, TestRank&)> {
 protected:
  static constexpr std::size_t kRanks = 3;

  // Lets every rank whose beat is due send it, and every running rank read what came.
  void tick() {
    clock_.advance(milliseconds(10));
    for (std::size_t r = 0; r < kRanks; ++r) {
      if (clock_.now() < stopped_at_[r] && clock_.now() >= next_beat_[r]) {
        world_[r]->transport->beat(clock_.now(), world_[r]->told);
        next_beat_[r] = next_beat_[r] + kEvery;
      }
    }
    for (int round = 0; round < 3; ++round) {
      for (std::size_t r = 0; r < kRanks; ++r) {
        if (clock_.now() < stopped_at_[r]) world_[r]->progress();
      }
    }
    for (std::size_t r = 0; r < kRanks; ++r) {
      if (!lost_at_[r] && !world_[r]->told.lost.empty()) lost_at_[r] = clock_.now();
    }
  }
  void run(Nanos length) {
    const Time until = clock_.now() + length;
    while (clock_.now() < until) tick();
  }
  // Each rank beats at times of its own.
  void begin(std::uint64_t seed) {
    world_ = join_lanes(kRanks, GetParam());
    Rng rng(seed);
    for (std::size_t r = 0; r < kRanks; ++r) {
      next_beat_[r] = clock_.now() + milliseconds(10 * (1 + rng.below(50)));
      stopped_at_[r] = kNever;
      lost_at_[r].reset();
    }
  }

  World world_;
  ManualClock clock_;
  Time next_beat_[kRanks], stopped_at_[kRanks];
  std::optional<Time> lost_at_[kRanks];
};

TEST_P(Silence, BeatingRanksAreNeverBlamed) {
  begin(1);
  run(seconds(60));
  for (auto& rank : world_) EXPECT_TRUE(rank->told.lost.empty());
}

// Counted from its last sign of life: a silent peer is never lost before it could be suspected, and
// early enough that one of five seconds is left to tell all others.
TEST_P(Silence, SilentPeerIsLostAtItsTime) {
  const std::uint64_t seeds = short_of_time() ? 10 : 50;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    begin(seed);
    run(seconds(2) + milliseconds(10 * (seed % 60)));
    const Time stop = clock_.now();
    stopped_at_[2] = stop;
    run(seconds(5));
    for (const std::size_t r : {0u, 1u}) {
      ASSERT_EQ(world_[r]->told.lost.size(), 1u) << "seed " << seed;
      EXPECT_EQ(world_[r]->told.lost[0].first, 2);
      EXPECT_EQ(world_[r]->told.lost[0].second.code(), Code::peer_lost);
      EXPECT_EQ(world_[r]->told.lost[0].second.culprit().host, "host2");
      EXPECT_LE(*lost_at_[r] - stop, kDead) << "seed " << seed;
      EXPECT_GE(*lost_at_[r] - stop, kSuspect) << "seed " << seed;
    }
    EXPECT_TRUE(world_[2]->told.lost.empty());
  }
}

// A slow rank is not dead: as long as it beats, however late each time, it is not lost.
TEST_P(Silence, SlowPeerThatStillBeatsIsNeverLost) {
  begin(3);
  for (int pause = 0; pause < 20; ++pause) {
    stopped_at_[2] = clock_.now();
    run(kSuspect - kEvery);
    stopped_at_[2] = kNever;
    next_beat_[2] = clock_.now();
    run(kEvery);
  }
  for (auto& rank : world_) EXPECT_TRUE(rank->told.lost.empty());
}

TEST_P(Silence, RankThatWasAwayItselfBlamesNobody) {
  begin(4);
  run(seconds(3));
  for (Time& stopped : stopped_at_) stopped = clock_.now();
  run(seconds(60));
  for (std::size_t r = 0; r < kRanks; ++r) {
    stopped_at_[r] = kNever;
    next_beat_[r] = clock_.now();
  }
  run(seconds(10));
  for (auto& rank : world_) EXPECT_TRUE(rank->told.lost.empty());
}

INSTANTIATE_TEST_SUITE_P(Lanes, Silence, testing::Values(shm_lanes, tcp_lanes),
                         [](const auto& which) { return which.index == 0 ? "shm" : "tcp"; });

}  // namespace
}  // namespace unisono::transport
