// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/handshake/stray_connection_guard.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "rendezvous/connect/sockets.hpp"

namespace unisono::rendezvous {
namespace {

struct Door {
  Poller poller;
  ManualClock clock;
  JobKey key = make_job_key();
  int port = 0;
  std::unique_ptr<StrayConnectionGuard> keeper;
  Door() {
    Fd listener = std::move(listen_tcp("127.0.0.1", 0)).value();
    port = port_of(listener).value();
    keeper = make_stray_guard(std::move(listener), key, poller, clock, 0);
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

TEST(StrayConnectionGuard, SendsGarbageAwayAndCountsIt) {
  Door door;
  const Fd candidate = door.knock();
  ASSERT_EQ(::send(candidate.get(), "GET / HTTP/1.0\r\n", 16, MSG_NOSIGNAL), 16);
  for (int i = 0; i < 20 && door.keeper->strangers() == 0; ++i) door.serve();
  EXPECT_EQ(door.keeper->strangers(), 1u);
  EXPECT_TRUE(closed(candidate));
  EXPECT_EQ(door.keeper->deadline(), kNever);
}

TEST(StrayConnectionGuard, DropsSlowWritersAfterTwoSeconds) {
  Door door;
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

TEST(StrayConnectionGuard, HoldsAtMostSixteenPending) {
  Door door;
  std::vector<Fd> candidates;
  for (int i = 0; i < 40; ++i) candidates.push_back(door.knock());
  for (int i = 0; i < 50 && door.keeper->strangers() < 24; ++i) door.serve();
  EXPECT_EQ(door.keeper->strangers(), 24u);
}

// A listener that cannot be served stays readable; the engine must be able to sleep all the same.
TEST(StrayConnectionGuard, OutOfDescriptorsDoesNotKeepThePollerAwake) {
  Door door;
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

TEST(StrayConnectionGuard, KeyHolderHasNoSeatEither) {
  Door door;
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

}  // namespace
}  // namespace unisono::rendezvous
