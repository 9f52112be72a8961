// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/mesh.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>

#include "transport/test_world.hpp"

namespace unisono {
namespace {
using std::chrono::seconds;

// Passes bytes on, and can flip one of those read.
class Tampering final : public Stream {
 public:
  Tampering(std::unique_ptr<Stream> inner, const std::int64_t* flip_at)
      : inner_(std::move(inner)), flip_at_(flip_at) {}
  std::size_t write(std::span<const std::byte> bytes) override { return inner_->write(bytes); }
  std::size_t read(std::span<std::byte> bytes) override {
    const std::size_t n = inner_->read(bytes);
    const std::int64_t at = *flip_at_ - seen_;
    if (at >= 0 && at < static_cast<std::int64_t>(n)) {
      bytes[static_cast<std::size_t>(at)] ^= std::byte{4};
    }
    seen_ += static_cast<std::int64_t>(n);
    return n;
  }
  Status health() override { return inner_->health(); }
  bool ready(bool writing) const override { return inner_->ready(writing); }
  void want_write(bool wanted) override { inner_->want_write(wanted); }
  void finish_writing() override { inner_->finish_writing(); }

 private:
  std::unique_ptr<Stream> inner_;
  const std::int64_t* flip_at_;
  std::int64_t seen_ = 0;
};

TEST(Mesh, DamagedDataFailsTheTransferAndTheLink) {
  for (const std::int64_t flip_at : {0, 20, 47, 48, 100000}) {
    const std::int64_t never = -1;
    World world = join_lanes(2, tcp_lanes, [&](std::unique_ptr<Stream> inner, Rank self) {
      return std::make_unique<Tampering>(std::move(inner), self == 1 ? &flip_at : &never);
    });
    const auto out = pattern(200000, 1);
    std::vector<std::byte> in(out.size());
    Transfer sent, received;
    world[1]->transport->receive(0, 1, in, received);
    world[0]->transport->send(1, 1, out, sent);
    ASSERT_TRUE(pump_until(world, [&] { return !world[1]->told.lost.empty(); }));
    EXPECT_EQ(world[1]->told.lost[0].second.code(), Code::corrupted);
    EXPECT_EQ(received.state, Transfer::State::failed);
  }
}

TEST(Mesh, AnotherEpochFailsTheLink) {
  World world = join_lanes(2, tcp_lanes, {}, 2);
  world[0]->transport->post(1, pattern(5, 1));
  ASSERT_TRUE(pump_until(world, [&] { return !world[1]->told.lost.empty(); }));
  EXPECT_TRUE(world[1]->told.messages.empty());
  EXPECT_NE(world[1]->told.lost[0].second.message().find("epoch"), std::string::npos);
}

class Silence : public testing::TestWithParam<PairLanes (*)(TestRank&, TestRank&)> {
 protected:
  World world_ = join_lanes(3, GetParam());
  ManualClock clock_;
  void beat(std::size_t r) { world_[r]->transport->beat(clock_.now(), world_[r]->told); }
  void run(int beats, std::size_t ranks) {
    for (int i = 0; i < beats; ++i) {
      clock_.advance(seconds(1));
      for (std::size_t r = 0; r < ranks; ++r) beat(r);
      for (int round = 0; round < 20; ++round) {
        for (std::size_t r = 0; r < ranks; ++r) world_[r]->progress();
      }
    }
  }
};

TEST_P(Silence, BeatingRanksAreNeverBlamed) {
  run(30, 3);
  for (auto& r : world_) EXPECT_TRUE(r->told.lost.empty());
}

TEST_P(Silence, SilentPeerIsLostWithinItsLimit) {
  run(3, 3);
  run(3, 2);
  EXPECT_TRUE(world_[0]->told.lost.empty());
  run(2, 2);
  for (std::size_t r : {0u, 1u}) {
    ASSERT_EQ(world_[r]->told.lost.size(), 1u);
    EXPECT_EQ(world_[r]->told.lost[0].first, 2);
    EXPECT_EQ(world_[r]->told.lost[0].second.code(), Code::peer_lost);
    EXPECT_EQ(world_[r]->told.lost[0].second.culprit().host, "host2");
  }
}

TEST_P(Silence, RankThatWasAwayItselfBlamesNobody) {
  run(3, 3);
  clock_.advance(seconds(60));
  beat(0);
  EXPECT_TRUE(world_[0]->told.lost.empty());
  run(3, 3);
  for (auto& r : world_) EXPECT_TRUE(r->told.lost.empty());
}

INSTANTIATE_TEST_SUITE_P(Lanes, Silence, testing::Values(shm_lanes, tcp_lanes),
                         [](const auto& which) { return which.index == 0 ? "shm" : "tcp"; });

TEST(ShmLanes, IdleRanksBeatWithoutWakingEachOther) {
  World world = join_lanes(2, shm_lanes);
  ManualClock clock;
  world[1]->poller.watch(world[1]->bell.fd(), 0, true, false);
  world[1]->bell.arm();
  for (int i = 0; i < 10; ++i) {
    clock.advance(seconds(1));
    for (auto& rank : world) rank->transport->beat(clock.now(), rank->told);
  }
  EXPECT_TRUE(world[1]->poller.wait(Nanos(0)).empty());
  EXPECT_FALSE(world[1]->transport->ready());
}

TEST(ShmLanes, KilledProcessIsLost) {
  auto sockets = unix_pair();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  const bool is_child = child == 0;
  TestRank self;
  auto lanes = make_shm_lanes(std::move(is_child ? sockets.second : sockets.first), !is_child,
                              self.bell, self.poller, 16, 1, seconds(10));
  (is_child ? sockets.first : sockets.second).reset();
  if (is_child && !lanes.ok()) ::_exit(1);
  ASSERT_TRUE(lanes.ok()) << lanes.status().to_string();
  MeshSettings settings;
  settings.rank = is_child ? 1 : 0;
  settings.peers = {{0, "here", 1}, {1, "here", child}};
  std::vector<PeerLanes> all(2);
  all[is_child ? 0 : 1] = std::move(lanes).value();
  self.transport = make_mesh(settings, std::move(all));
  if (is_child) {
    self.transport->post(0, pattern(100, 3));
    for (;;) ::pause();
  }
  while (self.told.messages.empty()) self.progress();
  ::kill(child, SIGKILL);
  const auto limit = std::chrono::steady_clock::now() + seconds(5);
  while (self.told.lost.empty() && std::chrono::steady_clock::now() < limit) {
    if (!self.progress() && !self.transport->ready()) self.poller.wait(seconds(1));
  }
  ASSERT_EQ(self.told.lost.size(), 1u);
  EXPECT_EQ(self.told.lost[0].second.culprit().pid, child);
  EXPECT_TRUE(self.poller.wait(Nanos(0)).empty()) << "a dead peer keeps the engine awake";
  ::waitpid(child, nullptr, 0);
}

TEST(ShmLanes, SilentOrHostilePartnerIsRefusedInTime) {
  TestRank self;
  auto quiet = unix_pair();
  auto lanes = make_shm_lanes(std::move(quiet.first), false, self.bell, self.poller, 16, 1,
                              std::chrono::milliseconds(50));
  EXPECT_EQ(lanes.status().code(), Code::timed_out);

  auto garbage = unix_pair();
  const auto noise = pattern(24, 1);
  ASSERT_EQ(::write(garbage.second.get(), noise.data(), noise.size()), 24);
  lanes = make_shm_lanes(std::move(garbage.first), true, self.bell, self.poller, 16, 1, seconds(5));
  EXPECT_EQ(lanes.status().code(), Code::corrupted);

  auto gone = unix_pair();
  gone.second.reset();
  lanes = make_shm_lanes(std::move(gone.first), true, self.bell, self.poller, 16, 1, seconds(5));
  EXPECT_EQ(lanes.status().code(), Code::peer_lost);
}

TEST(InprocWorld, NamesTheRanksThatNeverCame) {
  InprocWorld world(3);
  Doorbell bell;
  auto seated = world.seat(1, bell, std::chrono::milliseconds(20));
  ASSERT_FALSE(seated.ok());
  EXPECT_EQ(seated.status().code(), Code::timed_out);
  EXPECT_NE(seated.status().message().find("0, 2"), std::string::npos);
}

TEST(InprocWorld, SixtyFourRanksSeatAndTalkQuickly) {
  const auto start = std::chrono::steady_clock::now();
  World world = join_threads(64);
  for (int r = 0; r < 64; ++r) {
    world[static_cast<std::size_t>(r)]->transport->post((r + 1) % 64, pattern(10, 1));
  }
  ASSERT_TRUE(pump_until(world, [&] {
    return std::ranges::all_of(world, [](auto& r) { return r->told.messages.size() == 1; });
  }));
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(10));
}

TEST(InprocWorld, LonelyRankHasNothingToDo) {
  World world = join_threads(1);
  EXPECT_FALSE(world[0]->progress());
  world[0]->transport->leave();
  EXPECT_TRUE(world[0]->transport->left());
}

}  // namespace
}  // namespace unisono
