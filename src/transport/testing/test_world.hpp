// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// For tests: a few ranks in one process, joined by the transport under test.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "transport/mesh/mesh.hpp"

namespace unisono::transport {

// Records what the transport reports.
class Recorder : public TransportListener {
 public:
  void on_message(Rank from, std::span<const std::byte> message) override {
    messages.emplace_back(from, std::vector(message.begin(), message.end()));
  }
  void on_lost(Rank peer, const Status& why) override { lost.emplace_back(peer, why); }
  void on_left(Rank peer) override { left.push_back(peer); }

  std::vector<std::pair<Rank, std::vector<std::byte>>> messages;
  std::vector<std::pair<Rank, Status>> lost;
  std::vector<Rank> left;
};

struct TestRank {
  Rank rank = 0;
  Doorbell bell;
  Poller poller;
  Recorder told;
  std::unique_ptr<Transport> transport;
  bool progress() { return transport != nullptr && transport->progress(told); }
};

using World = std::vector<std::unique_ptr<TestRank>>;
using StreamWrap = std::function<std::unique_ptr<Stream>(std::unique_ptr<Stream>, Rank self)>;

inline World make_ranks(int size) {
  World world;
  for (int i = 0; i < size; ++i) world.emplace_back(std::make_unique<TestRank>())->rank = i;
  return world;
}

inline std::pair<Fd, Fd> tcp_pair() {
  Fd door(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(::bind(door.get(), generic, length), 0);
  EXPECT_EQ(::listen(door.get(), 1), 0);
  EXPECT_EQ(::getsockname(door.get(), generic, &length), 0);
  Fd caller(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(caller.get(), generic, length), 0);
  return {std::move(caller), Fd(::accept4(door.get(), nullptr, nullptr, SOCK_CLOEXEC))};
}

inline std::pair<Fd, Fd> unix_pair() {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

using PairLanes = std::pair<PeerLanes, PeerLanes>;

// Two ends that use the same mark get matching secrets.
inline LaneSecret test_secret(SealKind kind, int mark, int side) {
  LaneSecret secret{kind, {}, {}};
  secret.out.fill(static_cast<unsigned char>(mark + side));
  secret.in.fill(static_cast<unsigned char>(mark + 1 - side));
  return secret;
}

// With which a rank's poller watches the streams to a peer.
inline std::uint64_t test_key(Rank peer) { return 16 + static_cast<std::uint64_t>(peer); }

template <SealKind kKind, std::size_t kStripes = 1>
PairLanes sealed_lanes(TestRank& a, TestRank& b) {
  std::vector<TcpLane> mine, theirs;
  for (std::size_t lane = 0; lane <= kStripes; ++lane) {
    auto sockets = tcp_pair();
    const int mark = 10 * static_cast<int>(lane + 1);
    mine.push_back({std::move(sockets.first), test_secret(kKind, mark, 0)});
    theirs.push_back({std::move(sockets.second), test_secret(kKind, mark, 1)});
  }
  return {make_tcp_lanes(std::move(mine), a.poller, test_key(b.rank)),
          make_tcp_lanes(std::move(theirs), b.poller, test_key(a.rank))};
}
inline PairLanes tcp_lanes(TestRank& a, TestRank& b) {
  return sealed_lanes<SealKind::aes_256_gcm>(a, b);
}

inline PairLanes shm_lanes(TestRank& a, TestRank& b) {
  auto sockets = unix_pair();
  auto other = std::async(std::launch::async, [&] {
    return make_shm_lanes(std::move(sockets.second), false, b.bell, b.poller, 16, 42,
                          std::chrono::seconds(10));
  });
  auto mine = make_shm_lanes(std::move(sockets.first), true, a.bell, a.poller, 16, 42,
                             std::chrono::seconds(10));
  auto theirs = other.get();
  EXPECT_TRUE(mine.ok()) << mine.status().to_string();
  EXPECT_TRUE(theirs.ok()) << theirs.status().to_string();
  return {std::move(mine).value(), std::move(theirs).value()};
}

inline World join_lanes(int size, const std::function<PairLanes(TestRank&, TestRank&)>& connect,
                        const StreamWrap& wrap = {}, std::uint32_t other_epoch = 1,
                        std::size_t io_threads = 0) {
  World world = make_ranks(size);
  const auto n = static_cast<std::size_t>(size);
  std::vector<std::vector<PeerLanes>> lanes(n);
  for (auto& row : lanes) row.resize(n);
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = a + 1; b < n; ++b) {
      std::tie(lanes[a][b], lanes[b][a]) = connect(*world[a], *world[b]);
    }
  }
  MeshSettings settings;
  settings.suspect_after = std::chrono::seconds(3);
  settings.dead_after = std::chrono::seconds(4);
  for (int i = 0; i < size; ++i) settings.peers.push_back({i, cat("host", i), 1000 + i});
  settings.io_threads = io_threads;
  for (std::size_t a = 0; a < n; ++a) {
    settings.rank = static_cast<Rank>(a);
    settings.bell = world[a]->bell.ringer();
    if (!wrap) settings.poller = &world[a]->poller;
    settings.first_key = test_key(0);
    if (a == 1) settings.epoch = other_epoch;
    for (PeerLanes& peer : lanes[a]) {
      if (!wrap || peer.control.stream == nullptr) continue;
      peer.control.stream = wrap(std::move(peer.control.stream), settings.rank);
      for (LaneStream& each : peer.data) each.stream = wrap(std::move(each.stream), settings.rank);
    }
    world[a]->transport = make_mesh(settings, std::move(lanes[a]));
  }
  return world;
}

inline World join_threads(int size) {
  World world = make_ranks(size);
  InprocWorld inproc(size);
  std::vector<std::future<Result<std::unique_ptr<Transport>>>> waiting;
  for (int i = 0; i < size; ++i) {
    waiting.push_back(std::async(std::launch::async, [&, i] {
      return inproc.join(i, world[static_cast<std::size_t>(i)]->bell,
                                               std::chrono::seconds(20));
    }));
  }
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    auto joined = waiting[i].get();
    EXPECT_TRUE(joined.ok()) << joined.status().to_string();
    world[i]->transport = std::move(joined).value();
  }
  return world;
}

// Drives every rank from this thread until `done`; returns false after more than ten seconds.
inline bool pump_until(World& world, const std::function<bool()>& done) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!done()) {
    for (auto& rank : world) rank->progress();
    if (std::chrono::steady_clock::now() > limit) return false;
  }
  return true;
}
inline void pump_some(World& world) {
  for (int round = 0; round < 200; ++round) {
    for (auto& rank : world) rank->progress();
  }
}

inline std::vector<std::byte> pattern(std::size_t size, unsigned seed) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 31 + seed + i / 251);
  return bytes;
}

}  // namespace unisono::transport
