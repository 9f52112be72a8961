// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/mesh/mesh.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <tuple>

#include "transport/testing/test_world.hpp"

namespace unisono::transport {
namespace {
using std::chrono::seconds;

// Passes bytes on, and can flip a bit of one byte that is read.
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
  for (const std::int64_t flip_at : {0, 20, 55, 56, 100000, 200056}) {
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
  const auto limit = std::chrono::steady_clock::now() + seconds(300);
  while (self.told.lost.empty() && std::chrono::steady_clock::now() < limit) {
    if (!self.progress() && !self.transport->ready()) self.poller.wait(seconds(1));
  }
  ASSERT_EQ(self.told.lost.size(), 1u);
  EXPECT_EQ(self.told.lost[0].second.culprit().pid, child);
  EXPECT_TRUE(self.poller.wait(Nanos(0)).empty()) << "a dead peer keeps the engine awake";
  ::waitpid(child, nullptr, 0);
}

enum class Holder { fork, clone, spawn };

// A child of the peer that lives on and holds all its descriptors, as a data-loading worker does.
pid_t start_holder(Holder how) {
  if (how == Holder::spawn) {
    const pid_t pid = ::vfork();
    if (pid == 0) {
      ::execlp("sleep", "sleep", "1000", nullptr);
      ::_exit(1);
    }
    return pid;
  }
  // _Fork() runs no handlers, so this child really holds everything.
  const pid_t pid = how == Holder::fork ? ::fork() : ::_Fork();
  if (pid == 0) {
    for (;;) ::pause();
  }
  return pid;
}

struct Held {
  pid_t peer = -1, holder = -1;
  ~Held() {
    for (const pid_t pid : {holder, peer}) {
      if (pid > 0) ::kill(pid, SIGKILL);
    }
    if (peer > 0) ::waitpid(peer, nullptr, 0);
  }
};

class HeldLanes : public testing::TestWithParam<std::tuple<bool, Holder>> {
 protected:
  static Fd door(bool shm, sockaddr_storage& address, socklen_t& length) {
    const int family = shm ? AF_UNIX : AF_INET;
    Fd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    address.ss_family = static_cast<sa_family_t>(family);
    // A unix socket bound to no name gets an abstract one from the kernel.
    length = shm ? sizeof(sa_family_t) : sizeof(sockaddr_in);
    if (!shm) reinterpret_cast<sockaddr_in&>(address).sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(::listen(fd.get(), 4), 0);
    length = sizeof address;
    EXPECT_EQ(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
    return fd;
  }
  static Result<PeerLanes> lanes(bool shm, bool create, Fd first, Fd second, TestRank& self) {
    if (!shm) {
      const int side = create ? 0 : 1;
      std::vector<TcpLane> both;
      both.push_back({std::move(first), test_secret(SealKind::aes_256_gcm, 10, side)});
      both.push_back({std::move(second), test_secret(SealKind::aes_256_gcm, 20, side)});
      return make_tcp_lanes(std::move(both), self.poller, 16);
    }
    return make_shm_lanes(std::move(first), create, self.bell, self.poller, 16, 1, seconds(10));
  }
  static void settle(TestRank& self, Rank rank, PeerLanes lanes) {
    MeshSettings settings;                  // no limit on silence: only the end can be noticed
    settings.rank = rank;
    settings.peers = {{0, "here", 1}, {1, "here", 2}};
    std::vector<PeerLanes> all(2);
    all[static_cast<std::size_t>(1 - rank)] = std::move(lanes);
    self.transport = make_mesh(settings, std::move(all));
  }
  [[noreturn]] static void be_the_peer(bool shm, Holder how, const sockaddr* address,
                                       socklen_t length) {
    Fd calls[2];
    for (Fd& call : calls) {
      call = Fd(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (::connect(call.get(), address, length) != 0) ::_exit(1);
    }
    TestRank self;
    auto joined = lanes(shm, false, std::move(calls[0]), std::move(calls[1]), self);
    if (!joined.ok()) ::_exit(1);
    settle(self, 1, std::move(joined).value());
    const pid_t holder = start_holder(how);
    self.transport->post(0, std::as_bytes(std::span(&holder, 1)));
    for (;;) {
      if (!self.progress()) self.poller.wait(seconds(1));
    }
  }
};

TEST_P(HeldLanes, AKilledPeerIsLostWhateverItsChildrenHold) {
  const auto [shm, how] = GetParam();
  sockaddr_storage address{};
  socklen_t length = 0;
  Fd listener = door(shm, address, length);
  Held held;
  held.peer = ::fork();
  ASSERT_GE(held.peer, 0);
  if (held.peer == 0) {
    listener.reset();
    be_the_peer(shm, how, reinterpret_cast<sockaddr*>(&address), length);
  }
  TestRank self;
  Fd first(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  Fd second(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  auto joined = lanes(shm, true, std::move(first), std::move(second), self);
  ASSERT_TRUE(joined.ok()) << joined.status().to_string();
  settle(self, 0, std::move(joined).value());
  const auto run_until = [&](const auto& done) {
    const auto limit = std::chrono::steady_clock::now() + seconds(300);
    while (!done() && std::chrono::steady_clock::now() < limit) {
      if (!self.progress() && !self.transport->ready())
        self.poller.wait(std::chrono::milliseconds(10));
    }
    return done();
  };
  ASSERT_TRUE(run_until([&] { return !self.told.messages.empty(); }));
  std::memcpy(&held.holder, self.told.messages[0].second.data(), sizeof held.holder);
  ASSERT_GT(held.holder, 0);
  ASSERT_EQ(::kill(held.peer, SIGKILL), 0);
  ASSERT_TRUE(run_until([&] { return !self.told.lost.empty(); }));
  EXPECT_EQ(self.told.lost[0].first, 1);
  EXPECT_TRUE(self.poller.wait(Nanos(0)).empty()) << "a dead peer keeps the engine awake";
  EXPECT_EQ(::kill(held.holder, 0), 0) << "the child was to outlive it";
}

std::string held_name(const testing::TestParamInfo<HeldLanes::ParamType>& which) {
  constexpr const char* kHow[] = {"fork", "clone", "spawn"};
  return std::string(std::get<0>(which.param) ? "shm_" : "tcp_") +
         kHow[static_cast<int>(std::get<1>(which.param))];
}

// Over TCP the kernel does not name the process at the other end. When a child has run no fork
// handlers, the end of the peer is noticed only by its silence.
INSTANTIATE_TEST_SUITE_P(
    Lanes, HeldLanes,
    testing::Values(std::tuple(true, Holder::fork), std::tuple(true, Holder::clone),
                    std::tuple(true, Holder::spawn), std::tuple(false, Holder::fork),
                    std::tuple(false, Holder::spawn)),
    held_name);

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
  auto joined = world.join(1, bell, std::chrono::milliseconds(20));
  ASSERT_FALSE(joined.ok());
  EXPECT_EQ(joined.status().code(), Code::timed_out);
  EXPECT_NE(joined.status().message().find("0, 2"), std::string::npos);
}

TEST(InprocWorld, SixtyFourRanksSeatAndTalk) {
  World world = join_threads(64);
  for (int r = 0; r < 64; ++r) {
    world[static_cast<std::size_t>(r)]->transport->post((r + 1) % 64, pattern(10, 1));
  }
  ASSERT_TRUE(pump_until(world, [&] {
    return std::ranges::all_of(world, [](auto& r) { return r->told.messages.size() == 1; });
  }));
}

TEST(InprocWorld, LonelyRankHasNothingToDo) {
  World world = join_threads(1);
  EXPECT_FALSE(world[0]->progress());
  world[0]->transport->leave();
  EXPECT_TRUE(world[0]->transport->left());
}

}  // namespace
}  // namespace unisono::transport
