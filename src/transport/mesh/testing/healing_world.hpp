// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// For tests: ranks in one process that connect on first use and again after a break, by TCP.
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "transport/tcp/tcp_stream.hpp"
#include "transport/testing/test_world.hpp"

namespace unisono::transport {

// Makes connections between the ranks of one test, for both at once.
class TestConnector final : public Connector {
 public:
  TestConnector(World& world, std::vector<TestConnector*>& all, Rank self)
      : world_(world), all_(all), self_(self) {}
  void seek(Rank peer, LaneId lane, std::uint32_t number) override {
    sought.push_back({peer, lane, number});
  }
  void stop(Rank peer, LaneId lane) override {
    std::erase_if(sought, [&](const Sought& each) {
      return each.peer == peer && each.lane == lane;
    });
  }
  std::vector<Connection> take_connections() override { return std::exchange(made, {}); }
  std::vector<Unreachable> take_unreachable() override { return std::exchange(gone, {}); }
  bool has_news() const override { return !made.empty() || !gone.empty(); }

  // Connects what is sought.
  void work() {
    for (const Sought& each : std::exchange(sought, {})) {
      if (all_[static_cast<std::size_t>(each.peer)] == nullptr) {
        gone.push_back({each.peer, Status(Code::unavailable, "nobody listens there")});
        continue;
      }
      auto [mine, theirs] = tcp_pair();
      const int mark = static_cast<int>(++made_in_all % 80) * 3;
      give(*this, each.peer, each, std::move(mine), test_secret(SealKind::aes_256_gcm, mark, 0));
      made.back().by_me = true;
      give(*all_[static_cast<std::size_t>(each.peer)], self_, each, std::move(theirs),
           test_secret(SealKind::aes_256_gcm, mark, 1));
    }
  }

  struct Sought {
    Rank peer;
    LaneId lane;
    std::uint32_t number;
  };
  std::vector<Sought> sought;
  std::vector<Connection> made;
  std::vector<Unreachable> gone;
  // The last connections of this rank, for those who want to break them.
  std::vector<int> sockets;
  static inline int made_in_all = 0;

 private:
  void give(TestConnector& to, Rank peer, const Sought& what, Fd socket, const LaneSecret& secret) {
    to.sockets.push_back(socket.get());
    Connection connection;
    connection.peer = peer;
    connection.lane = what.lane;
    connection.turn = {what.number, self_ > what.peer};
    connection.secret = secret;
    TestRank& rank = *world_[static_cast<std::size_t>(to.self_)];
    connection.stream =
        std::make_unique<TcpStream>(std::move(socket), rank.poller, 16, secret.kind);
    to.made.push_back(std::move(connection));
  }

  World& world_;
  std::vector<TestConnector*>& all_;
  Rank self_;
};

struct HealingWorld {
  World world;
  std::vector<TestConnector*> connectors;

  explicit HealingWorld(int size, std::size_t stripes = 1, std::size_t io_threads = 0)
      : world(make_ranks(size)) {
    MeshSettings settings;
    settings.stripes = stripes;
    settings.io_threads = io_threads;
    settings.suspect_after = std::chrono::seconds(3);
    settings.dead_after = std::chrono::seconds(4);
    for (int i = 0; i < size; ++i) settings.peers.push_back({i, cat("host", i), 1000 + i});
    for (int i = 0; i < size; ++i) {
      auto connector = std::make_shared<TestConnector>(world, connectors, i);
      connectors.push_back(connector.get());
      settings.rank = i;
      settings.connector = std::move(connector);
      settings.bell = world[static_cast<std::size_t>(i)]->bell.ringer();
      world[static_cast<std::size_t>(i)]->transport =
          make_mesh(settings, std::vector<PeerLanes>(static_cast<std::size_t>(size)));
    }
  }
  Transport& at(int rank) { return *world[static_cast<std::size_t>(rank)]->transport; }
  // Returns whether anything moved here; threads may move more.
  bool step() {
    for (TestConnector* connector : connectors) {
      if (connector != nullptr) connector->work();
    }
    bool moved = false;
    for (auto& rank : world) {
      if (rank->transport != nullptr) moved |= rank->progress();
    }
    return moved;
  }
  // The rank ends without a word; nobody answers in its place.
  void end(int rank) {
    connectors[static_cast<std::size_t>(rank)] = nullptr;
    world[static_cast<std::size_t>(rank)]->transport.reset();
  }
};

// Loses what the kernel holds for both ends, and resets the connection. Asks the kernel itself:
// ThreadSanitizer takes connect() for the making of a descriptor that another thread uses already.
inline void reset(int socket) {
  sockaddr nowhere{};
  nowhere.sa_family = AF_UNSPEC;
  (void)::syscall(SYS_connect, socket, &nowhere, sizeof nowhere);
}

}  // namespace unisono::transport
