// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/handshake/handshake_acceptor.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>

#include "rendezvous/connect/probe.hpp"
#include "rendezvous/connect/sockets.hpp"

namespace unisono::rendezvous {
namespace {

struct Room {
  JobKey key = make_job_key();
  Fd listener = std::move(listen_tcp("127.0.0.1", 0)).value();
  int port = port_of(listener).value();
  ManualClock clock;
  Fd knock() const {
    Fd fd = std::move(start_tcp({"127.0.0.1", port})).value();
    pollfd ready{fd.get(), POLLOUT, 0};
    ::poll(&ready, 1, 1000);
    return fd;
  }
};

// Returns how many connections arrive within some turns.
std::size_t arrive(Room& room, HandshakeAcceptor& acceptor, ClientHandshake& client,
                   const Fd& socket) {
  std::size_t arrived = 0;
  for (int turn = 0; turn < 100 && arrived == 0; ++turn) {
    client.step(socket.get());
    acceptor.accept_from(room.listener.get(), room.clock.now());
    arrived += acceptor.step(room.clock.now()).size();
  }
  return arrived;
}

TEST(HandshakeAcceptor, SilentGuestsMakeRoomForThoseWhoSpeak) {
  Room room;
  HandshakeAcceptor acceptor(room.key, 0, 22);
  std::vector<Fd> silent;
  for (int i = 0; i < 22; ++i) silent.push_back(room.knock());
  acceptor.accept_from(room.listener.get(), room.clock.now());
  ASSERT_EQ(acceptor.pending().size(), 22u);
  for (int rank = 1; rank < 4; ++rank) {
    const Fd socket = room.knock();
    ClientHandshake client(room.key, {kProtocolVersion, Purpose::join, rank, 4, 0});
    EXPECT_EQ(arrive(room, acceptor, client, socket), 1u) << rank;
  }
  EXPECT_LE(acceptor.pending().size(), 22u);
  EXPECT_EQ(acceptor.strangers(), 1u)
      << "one had to make room; ranks leave theirs when they are in";
}

// A candidate that has sent its hello waits for an answer; silent ones are removed before it.
TEST(HandshakeAcceptor, GuestsThatHaveSaidHelloStayLongest) {
  Room room;
  HandshakeAcceptor acceptor(room.key, 0, 4);
  const Fd socket = room.knock();
  ClientHandshake client(room.key, {kProtocolVersion, Purpose::join, 1, 2, 0});
  client.step(socket.get());
  acceptor.accept_from(room.listener.get(), room.clock.now());
  ASSERT_TRUE(acceptor.step(room.clock.now()).empty());
  std::vector<Fd> silent;
  for (int i = 0; i < 10; ++i) silent.push_back(room.knock());
  EXPECT_EQ(arrive(room, acceptor, client, socket), 1u);
}

// Its hello is on the way: silent strangers that come meanwhile do not push it out.
TEST(HandshakeAcceptor, WhoHasJustComeHasTimeToSpeak) {
  Room room;
  HandshakeAcceptor acceptor(room.key, 0, 8);
  std::vector<Fd> others;
  std::vector<ClientHandshake> strangers;
  const JobKey wrong = make_job_key();
  strangers.reserve(8);
  for (int i = 0; i < 8; ++i) {
    others.push_back(room.knock());
    strangers.emplace_back(wrong, Hello{kProtocolVersion, Purpose::join, 1, 4, 0});
    strangers.back().step(others.back().get());
  }
  acceptor.accept_from(room.listener.get(), room.clock.now());
  (void)acceptor.step(room.clock.now());
  const Fd socket = room.knock();
  acceptor.accept_from(room.listener.get(), room.clock.now());
  for (int i = 0; i < 4; ++i) {
    others.push_back(room.knock());
    acceptor.accept_from(room.listener.get(), room.clock.now());
  }
  ClientHandshake client(room.key, {kProtocolVersion, Purpose::join, 2, 4, 0});
  EXPECT_EQ(arrive(room, acceptor, client, socket), 1u);
}

TEST(HandshakeAcceptor, SaysWhichDescriptorItCloses) {
  Room room;
  HandshakeAcceptor acceptor(room.key, 0, 8);
  std::vector<int> closed;
  acceptor.before_close = [&](int fd) { closed.push_back(fd); };
  const Fd silent = room.knock();
  const std::vector<int> taken = acceptor.accept_from(room.listener.get(), room.clock.now());
  ASSERT_EQ(taken.size(), 1u);
  room.clock.advance(HandshakeAcceptor::kPatience);
  (void)acceptor.step(room.clock.now());
  EXPECT_EQ(closed, taken);
}

TEST(HandshakeAcceptor, AFloodIsTakenSomeAtATime) {
  Room room;
  HandshakeAcceptor acceptor(room.key, 0, 500);
  std::vector<Fd> candidates;
  for (int i = 0; i < 100; ++i) candidates.push_back(room.knock());
  const auto taken = acceptor.accept_from(room.listener.get(), room.clock.now());
  EXPECT_EQ(taken.size(), 64u);
  EXPECT_EQ(acceptor.accept_from(room.listener.get(), room.clock.now()).size(), 36u);
}

TEST(HandshakeAcceptor, OutOfDescriptorsRestsAndGoesOn) {
  Room room;
  HandshakeAcceptor acceptor(room.key, 0, 8);
  const Fd candidate = room.knock();
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  struct rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_TRUE(acceptor.accept_from(room.listener.get(), room.clock.now()).empty());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(acceptor.resting(room.clock.now()));
  EXPECT_TRUE(acceptor.accept_from(room.listener.get(), room.clock.now()).empty());
  ASSERT_NE(acceptor.deadline(), kNever);
  room.clock.advance(acceptor.deadline() - room.clock.now());
  EXPECT_FALSE(acceptor.resting(room.clock.now()));
  EXPECT_EQ(acceptor.accept_from(room.listener.get(), room.clock.now()).size(), 1u);
  (void)acceptor.step(room.clock.now());
  EXPECT_EQ(acceptor.strangers(), 0u);
}

TEST(Probe, OnlyTheHolderOfTheKeyCounts) {
  Room room;
  const Hello as{kProtocolVersion, Purpose::join, 1, 2, 0};
  const std::string address = address_text("127.0.0.1", room.port);
  EXPECT_FALSE(rank_zero_answers({room.key, "nonsense"}, as, Nanos(100'000'000)));
  EXPECT_FALSE(rank_zero_answers({room.key, address}, as, Nanos(20'000'000))) << "nobody accepts";
  std::atomic<bool> over = false;
  std::thread server([&] {
    HandshakeAcceptor acceptor(room.key, 0, 8);
    const SteadyClock clock;
    while (!over) {
      acceptor.accept_from(room.listener.get(), clock.now());
      (void)acceptor.step(clock.now());
      std::this_thread::yield();
    }
  });
  EXPECT_TRUE(rank_zero_answers({room.key, address}, as, Nanos(10'000'000'000)));
  EXPECT_FALSE(rank_zero_answers({make_job_key(), address}, as, Nanos(10'000'000'000)));
  over = true;
  server.join();
  room.listener.reset();
  EXPECT_FALSE(rank_zero_answers({room.key, address}, as, Nanos(10'000'000'000)));
}

}  // namespace
}  // namespace unisono::rendezvous
