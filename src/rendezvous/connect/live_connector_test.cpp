// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/connect/live_connector.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>

#include "rendezvous/connect/sockets.hpp"

namespace unisono::rendezvous {
namespace {

struct GuardedDoor {
  Poller poller;
  ManualClock clock;
  JobKey key = make_job_key();
  int port = 0;
  std::shared_ptr<LiveConnector> keeper;
  GuardedDoor() {
    Fd listener = std::move(listen_tcp("127.0.0.1", 0)).value();
    port = port_of(listener).value();
    LiveSettings settings;
    settings.key = key;
    keeper = make_live_connector(std::move(listener), std::move(settings), poller, clock);
  }
  Fd knock() const {
    Fd fd = std::move(start_tcp({"127.0.0.1", port})).value();
    pollfd ready{fd.get(), POLLOUT, 0};
    ::poll(&ready, 1, 1000);
    return fd;
  }
  void serve() {
    bool at_door = false;
    for (const auto& event : poller.wait(Nanos(50'000'000))) at_door |= event.key == kDoorKey;
    if (at_door) keeper->serve(clock.now());
  }
};

bool closed(const Fd& fd) {
  pollfd ready{fd.get(), POLLIN, 0};
  char byte;
  return ::poll(&ready, 1, 1000) == 1 && ::recv(fd.get(), &byte, 1, MSG_DONTWAIT) <= 0;
}

TEST(LiveConnector, SendsGarbageAwayAndCountsIt) {
  GuardedDoor door;
  const Fd candidate = door.knock();
  ASSERT_EQ(::send(candidate.get(), "GET / HTTP/1.0\r\n", 16, MSG_NOSIGNAL), 16);
  for (int i = 0; i < 20 && door.keeper->strangers() == 0; ++i) door.serve();
  EXPECT_EQ(door.keeper->strangers(), 1u);
  EXPECT_TRUE(closed(candidate));
  EXPECT_EQ(door.keeper->deadline(), kNever);
}

TEST(LiveConnector, DropsSlowWritersAfterTwoSeconds) {
  GuardedDoor door;
  const Fd candidate = door.knock();
  ASSERT_EQ(::send(candidate.get(), "UNI", 3, MSG_NOSIGNAL), 3);
  door.serve();
  ASSERT_NE(door.keeper->deadline(), kNever);
  door.clock.advance(Nanos(1'999'000'000));
  door.keeper->serve(door.clock.now());
  EXPECT_EQ(door.keeper->strangers(), 0u);
  door.clock.advance(Nanos(2'000'000));
  door.keeper->serve(door.clock.now());
  EXPECT_EQ(door.keeper->strangers(), 1u);
  EXPECT_TRUE(closed(candidate));
}

TEST(LiveConnector, HoldsAtMostSixteenPending) {
  GuardedDoor door;
  std::vector<Fd> candidates;
  for (int i = 0; i < 40; ++i) candidates.push_back(door.knock());
  for (int i = 0; i < 50 && door.keeper->strangers() < 24; ++i) door.serve();
  EXPECT_EQ(door.keeper->strangers(), 24u);
}

// A listener that cannot be served stays readable; the engine must be able to sleep all the same.
TEST(LiveConnector, OutOfDescriptorsDoesNotKeepThePollerAwake) {
  GuardedDoor door;
  const Fd candidate = door.knock();
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  struct rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  door.serve();
  const bool quiet = door.poller.wait(Nanos(1'000'000)).empty();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(quiet);
  ASSERT_NE(door.keeper->deadline(), kNever);
  door.clock.advance(Nanos(200'000'000));
  door.keeper->serve(door.clock.now());
  ASSERT_EQ(::send(candidate.get(), "GET / HTTP/1.0\r\n", 16, MSG_NOSIGNAL), 16);
  for (int i = 0; i < 20 && door.keeper->strangers() == 0; ++i) door.serve();
  EXPECT_EQ(door.keeper->strangers(), 1u);
}

TEST(LiveConnector, KeyHolderHasNoSeatEither) {
  GuardedDoor door;
  const Fd candidate = door.knock();
  ClientHandshake handshake(door.key, {});
  HandshakeState state = HandshakeState::pending;
  for (int i = 0; i < 100 && state == HandshakeState::pending; ++i) {
    state = handshake.step(candidate.get());
    door.serve();
  }
  EXPECT_EQ(state, HandshakeState::done);
  EXPECT_EQ(door.keeper->strangers(), 1u);
  EXPECT_TRUE(closed(candidate));
}

// Ranks of one job that serve their doors in turn, in one thread.
struct LiveJob {
  struct Member {
    Poller poller;
    std::shared_ptr<LiveConnector> connector;
    std::vector<transport::Connection> connections;
    std::vector<transport::Unreachable> gone;
  };
  SteadyClock clock;
  JobKey key = make_job_key();
  std::vector<PeerRecord> records;
  std::vector<Fd> listeners;
  std::vector<std::unique_ptr<Member>> members;
  std::vector<std::size_t> stripes_of;      // by rank; 1 where nothing is said

  explicit LiveJob(int size) {
    for (Rank rank = 0; rank < size; ++rank) {
      listeners.push_back(std::move(listen_tcp("127.0.0.1", 0)).value());
      PeerRecord record;
      record.rank = rank;
      record.size = size;
      record.host = "here";
      record.place = "here";
      record.addresses = address_text("127.0.0.1", port_of(listeners.back()).value());
      records.push_back(record);
    }
  }
  void open(std::uint32_t incarnation) {
    for (std::size_t i = 0; i < records.size(); ++i) open_one(i, incarnation);
  }
  void open_one(std::size_t i, std::uint32_t incarnation) {
    LiveSettings settings;
    settings.key = key;
    settings.self = static_cast<Rank>(i);
    settings.incarnation = incarnation;
    settings.peer_records = records;
    settings.stripes = stripes_of.size() > i ? stripes_of[i] : 1;
    if (members.size() <= i) members.resize(i + 1);
    members[i] = std::make_unique<Member>();
    members[i]->connector = make_live_connector(std::move(listeners[i]), std::move(settings),
                                                members[i]->poller, clock);
  }
  void serve() {
    for (auto& member : members) {
      if (!member) continue;
      member->connector->serve(clock.now());
      for (auto& each : member->connector->take_connections()) {
        member->connections.push_back(std::move(each));
      }
      for (auto& each : member->connector->take_unreachable()) member->gone.push_back(each);
    }
  }
  template <typename Done>
  bool serve_until(Done done) {
    for (const Time limit = clock.now() + std::chrono::seconds(20); clock.now() < limit;) {
      serve();
      if (done()) return true;
    }
    return false;
  }
};

TEST(LiveConnector, BothEndsGetTheConnectionThatOneSought) {
  LiveJob job(2);
  job.open(incarnation_of(job.records));
  job.members[0]->connector->seek(1, transport::LaneId::of_stripe(0), 3);
  ASSERT_TRUE(job.serve_until([&] {
    return !job.members[0]->connections.empty() && !job.members[1]->connections.empty();
  }));
  const transport::Connection& caller = job.members[0]->connections[0];
  const transport::Connection& called = job.members[1]->connections[0];
  EXPECT_EQ(caller.peer, 1);
  EXPECT_EQ(called.peer, 0);
  EXPECT_EQ(called.lane, transport::LaneId::of_stripe(0));
  EXPECT_EQ(caller.turn, called.turn);
  EXPECT_EQ(caller.turn, (transport::Turn{3, false}));
  EXPECT_EQ(caller.secret.out, called.secret.in);
  EXPECT_EQ(job.members[1]->connector->strangers(), 0u);
}

TEST(LiveConnector, EveryStripeIsALaneOfItsOwn) {
  LiveJob job(2);
  job.stripes_of = {3, 3};
  job.open(incarnation_of(job.records));
  for (const std::size_t stripe : {2u, 0u}) {
    job.members[0]->connector->seek(1, transport::LaneId::of_stripe(stripe), 1);
  }
  ASSERT_TRUE(job.serve_until([&] {
    return job.members[0]->connections.size() == 2 && job.members[1]->connections.size() == 2;
  }));
  for (const transport::Connection& called : job.members[1]->connections) {
    const auto same = std::ranges::find(job.members[0]->connections, called.lane,
                                        &transport::Connection::lane);
    ASSERT_NE(same, job.members[0]->connections.end());
    EXPECT_EQ(same->secret.out, called.secret.in);
  }
}

TEST(LiveConnector, ALaneThatTheJobDoesNotHaveIsRefused) {
  LiveJob job(2);
  job.stripes_of = {8, 2};
  job.open(incarnation_of(job.records));
  job.members[0]->connector->seek(1, transport::LaneId::of_stripe(2), 1);
  ASSERT_TRUE(job.serve_until([&] { return job.members[1]->connector->strangers() > 0; }));
  EXPECT_TRUE(job.members[1]->connections.empty());
}

TEST(LiveConnector, NobodyAtTheAddressMeansThatThePeerHasEnded) {
  LiveJob job(2);
  const auto same = incarnation_of(job.records);
  job.open_one(0, same);
  job.listeners[1].reset();
  job.members[0]->connector->seek(1, transport::LaneId::control(), 2);
  ASSERT_TRUE(job.serve_until([&] { return !job.members[0]->gone.empty(); }));
  EXPECT_EQ(job.members[0]->gone[0].peer, 1);
  EXPECT_NE(job.members[0]->gone[0].why.message().find("nobody listens"), std::string::npos);
}

TEST(LiveConnector, AnotherIncarnationOfTheJobIsNotThePeer) {
  LiveJob job(2);
  job.open_one(0, 11);
  job.open_one(1, 22);
  job.members[0]->connector->seek(1, transport::LaneId::control(), 2);
  ASSERT_TRUE(job.serve_until([&] { return !job.members[0]->gone.empty(); }));
  EXPECT_NE(job.members[0]->gone[0].why.message().find("another job"), std::string::npos)
      << job.members[0]->gone[0].why.message();
  EXPECT_TRUE(job.members[1]->connections.empty());
  EXPECT_EQ(job.members[1]->connector->strangers(), 1u);
}

TEST(LiveConnector, WhoIsNotSoughtAnyMoreIsNotCalled) {
  LiveJob job(2);
  job.open(incarnation_of(job.records));
  job.members[0]->connector->seek(1, transport::LaneId::of_stripe(0), 1);
  job.members[0]->connector->stop(1, transport::LaneId::of_stripe(0));
  for (int i = 0; i < 50; ++i) job.serve();
  EXPECT_TRUE(job.members[0]->connections.empty());
  EXPECT_TRUE(job.members[1]->connections.empty());
}

}  // namespace
}  // namespace unisono::rendezvous
