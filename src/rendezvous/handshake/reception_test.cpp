// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/handshake/reception.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>

#include "rendezvous/connect/probe.hpp"
#include "rendezvous/connect/sockets.hpp"

namespace unisono {
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

// How many of these arrive, given some turns.
std::size_t arrive(Room& room, Reception& reception, ClientHandshake& client, const Fd& socket) {
  std::size_t arrived = 0;
  for (int turn = 0; turn < 100 && arrived == 0; ++turn) {
    client.step(socket.get());
    reception.accept_from(room.listener.get(), room.clock.now());
    arrived += reception.step(room.clock.now()).size();
  }
  return arrived;
}

TEST(Reception, SilentGuestsMakeRoomForThoseWhoSpeak) {
  Room room;
  Reception reception(room.key, 0, 22);
  std::vector<Fd> silent;
  for (int i = 0; i < 22; ++i) silent.push_back(room.knock());
  reception.accept_from(room.listener.get(), room.clock.now());
  ASSERT_EQ(reception.pending().size(), 22u);
  for (int rank = 1; rank < 4; ++rank) {
    const Fd socket = room.knock();
    ClientHandshake client(room.key, {kProtocolVersion, Purpose::join, rank, 4, 0});
    EXPECT_EQ(arrive(room, reception, client, socket), 1u) << rank;
  }
  EXPECT_LE(reception.pending().size(), 22u);
  EXPECT_EQ(reception.strangers(), 1u) << "one had to make room; ranks leave theirs when they are in";
}

// A guest that has said hello waits for the answer to its proof; those who are silent go first.
TEST(Reception, GuestsThatHaveSaidHelloStayLongest) {
  Room room;
  Reception reception(room.key, 0, 4);
  const Fd socket = room.knock();
  ClientHandshake client(room.key, {kProtocolVersion, Purpose::join, 1, 2, 0});
  client.step(socket.get());
  reception.accept_from(room.listener.get(), room.clock.now());
  ASSERT_TRUE(reception.step(room.clock.now()).empty());
  std::vector<Fd> silent;
  for (int i = 0; i < 10; ++i) silent.push_back(room.knock());
  EXPECT_EQ(arrive(room, reception, client, socket), 1u);
}

// Its hello is on the way: silent strangers that come meanwhile do not push it out.
TEST(Reception, WhoHasJustComeHasTimeToSpeak) {
  Room room;
  Reception reception(room.key, 0, 8);
  std::vector<Fd> others;
  std::vector<ClientHandshake> strangers;
  const JobKey wrong = make_job_key();
  strangers.reserve(8);
  for (int i = 0; i < 8; ++i) {
    others.push_back(room.knock());
    strangers.emplace_back(wrong, Hello{kProtocolVersion, Purpose::join, 1, 4, 0});
    strangers.back().step(others.back().get());
  }
  reception.accept_from(room.listener.get(), room.clock.now());
  (void)reception.step(room.clock.now());
  const Fd socket = room.knock();
  reception.accept_from(room.listener.get(), room.clock.now());
  for (int i = 0; i < 4; ++i) {
    others.push_back(room.knock());
    reception.accept_from(room.listener.get(), room.clock.now());
  }
  ClientHandshake client(room.key, {kProtocolVersion, Purpose::join, 2, 4, 0});
  EXPECT_EQ(arrive(room, reception, client, socket), 1u);
}

TEST(Reception, SaysWhichDescriptorItCloses) {
  Room room;
  Reception reception(room.key, 0, 8);
  std::vector<int> closed;
  reception.before_close = [&](int fd) { closed.push_back(fd); };
  const Fd silent = room.knock();
  const std::vector<int> taken = reception.accept_from(room.listener.get(), room.clock.now());
  ASSERT_EQ(taken.size(), 1u);
  room.clock.advance(Reception::kPatience);
  (void)reception.step(room.clock.now());
  EXPECT_EQ(closed, taken);
}

TEST(Reception, AFloodIsTakenSomeAtATime) {
  Room room;
  Reception reception(room.key, 0, 500);
  std::vector<Fd> guests;
  for (int i = 0; i < 100; ++i) guests.push_back(room.knock());
  const auto taken = reception.accept_from(room.listener.get(), room.clock.now());
  EXPECT_EQ(taken.size(), 64u);
  EXPECT_EQ(reception.accept_from(room.listener.get(), room.clock.now()).size(), 36u);
}

TEST(Reception, OutOfDescriptorsRestsAndGoesOn) {
  Room room;
  Reception reception(room.key, 0, 8);
  const Fd guest = room.knock();
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  struct rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_TRUE(reception.accept_from(room.listener.get(), room.clock.now()).empty());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(reception.resting(room.clock.now()));
  EXPECT_TRUE(reception.accept_from(room.listener.get(), room.clock.now()).empty());
  ASSERT_NE(reception.deadline(), kNever);
  room.clock.advance(reception.deadline() - room.clock.now());
  EXPECT_FALSE(reception.resting(room.clock.now()));
  EXPECT_EQ(reception.accept_from(room.listener.get(), room.clock.now()).size(), 1u);
  (void)reception.step(room.clock.now());
  EXPECT_EQ(reception.strangers(), 0u);
}

TEST(Probe, OnlyTheHolderOfTheKeyCounts) {
  Room room;
  const Hello as{kProtocolVersion, Purpose::join, 1, 2, 0};
  const std::string address = address_text("127.0.0.1", room.port);
  EXPECT_FALSE(rank_zero_answers({room.key, "nonsense"}, as, Nanos(100'000'000)));
  EXPECT_FALSE(rank_zero_answers({room.key, address}, as, Nanos(20'000'000))) << "nobody accepts";
  std::atomic<bool> over = false;
  std::thread server([&] {
    Reception reception(room.key, 0, 8);
    const SteadyClock clock;
    while (!over) {
      reception.accept_from(room.listener.get(), clock.now());
      (void)reception.step(clock.now());
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
}  // namespace unisono
