// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Ranks that are not all connected, and connections that break while tensors are on their way.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/data/rng.hpp"
#include "base/data/text.hpp"
#include "base/testing/effort.hpp"
#include "engine/peers/tcp_ranks.hpp"

namespace unisono::engine {
namespace {

// Collectives of all sizes and kinds, checked; what is written right after completion harms nobody.
void exchange(Engine& engine, int steps) {
  const auto n = static_cast<float>(engine.size());
  const float sum = n * (n - 1) / 2;
  for (int step = 0; step < steps; ++step) {
    std::vector<std::vector<float>> tensors;
    std::vector<Ticket> tickets;
    for (const std::size_t elements : {1u, 100u, 5'000u, 40'000u, 300'000u}) {
      tensors.emplace_back(elements, static_cast<float>(engine.rank()) + static_cast<float>(step));
    }
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      tickets.push_back(engine.allreduce<float>(cat("t", i), tensors[i], {.op = ReduceOp::sum}));
    }
    std::vector<double> copied(30'000, engine.rank());
    tickets.push_back(engine.broadcast<double>("b", copied, step % engine.size()));
    tickets.push_back(engine.barrier());
    for (const Ticket& ticket : tickets) {
      const Status status = ticket.wait();
      ASSERT_TRUE(status.ok()) << "rank " << engine.rank() << ": " << status.to_string();
    }
    for (auto& tensor : tensors) {
      const float expected = sum + n * static_cast<float>(step);
      for (const float value : tensor) ASSERT_EQ(value, expected);
      std::fill(tensor.begin(), tensor.end(), -1.0F);
    }
    for (const double value : copied) ASSERT_EQ(value, step % engine.size());
  }
}

// Breaks connections of this process as a network might: both ends lose what the kernel holds. It
// asks the kernel directly, since descriptors come and go under it on purpose.
class Saboteur {
 public:
  Saboteur() : thread_([this] { run(); }) {}
  ~Saboteur() {
    stop_ = true;
    thread_.join();
  }
  int resets() const { return resets_; }

 private:
  void run() {
    Rng rng(11);
    while (!stop_) {
      const int fd = 3 + static_cast<int>(rng.below(200));
      sockaddr_in address{};
      socklen_t length = sizeof address;
      tcp_info info{};
      socklen_t bytes = sizeof info;
      const bool connected =
          ::syscall(SYS_getpeername, fd, &address, &length) == 0 &&
          ::syscall(SYS_getsockopt, fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) == 0 &&
          info.tcpi_state == TCP_ESTABLISHED;
      if (!connected) continue;
      sockaddr nowhere{};
      nowhere.sa_family = AF_UNSPEC;
      if (::syscall(SYS_connect, fd, &nowhere, sizeof nowhere) == 0) ++resets_;
      std::this_thread::sleep_for(std::chrono::microseconds(rng.below(4000)));
    }
  }
  std::atomic<bool> stop_{false};
  std::atomic<int> resets_{0};
  std::thread thread_;
};

Options healing() {
  Options options;
  options.heal = "always";
  return options;
}

// Three ranks exchange while their connections are reset at random.
void expect_resets_cost_nothing(const Options& options, int rounds) {
  std::atomic<bool> may_begin{false};
  std::atomic<std::uint64_t> made_again{0};
  std::atomic<int> ready{0}, done{0};
  std::unique_ptr<Saboteur> saboteur;
  run_tcp_ranks(3, [&](Engine& engine) {
    exchange(engine, 1);
    if (++ready == 3) {
      saboteur = std::make_unique<Saboteur>();
      may_begin = true;
    }
    while (!may_begin) std::this_thread::yield();
    exchange(engine, rounds);
    if (++done == 3) saboteur.reset();      // leaving is not disturbed
    while (done < 3) std::this_thread::yield();
    made_again += engine.stats().reconnections;
  }, options);
  EXPECT_GT(made_again, 3u);
}

TEST(Connections, ResetsInTheMiddleOfTransfersCostNothingButTime) {
  expect_resets_cost_nothing(healing(), short_of_time() ? 10 : 60);
}

Options striped(int connections, int io_threads) {
  Options options;
  options.connections = connections;
  options.io_threads = io_threads;
  return options;
}

TEST(Connections, SeveralShareTheDataBetweenTwoRanks) {
  for (const auto& [connections, io_threads] : {std::pair{1, 1}, {3, 0}, {4, 2}, {8, 8}}) {
    std::atomic<int> done{0};
    run_tcp_ranks(3, [&, each = connections](Engine& engine) {
      exchange(engine, short_of_time() ? 3 : 20);
      EXPECT_EQ(engine.stats().connections, 2u * (1 + static_cast<unsigned>(each)));
      ++done;
      while (done < 3) std::this_thread::yield();
    }, striped(connections, io_threads));
  }
}

TEST(Connections, SeveralHealWhileThreadsMoveTheData) {
  Options options = striped(4, 2);
  options.heal = "always";
  expect_resets_cost_nothing(options, short_of_time() ? 8 : 40);
}

TEST(Connections, SeveralAreMadeOnFirstUse) {
  Options options = striped(2, 1);
  options.connect = "first_use";
  options.tree_radix = 2;
  run_tcp_ranks(6, [&](Engine& engine) { exchange(engine, 4); }, options);
}

// A rank goes while the others have much on its way to it: they are answered, and may use their
// memory again.
TEST(Connections, ARankThatLeavesWhileStripesAreBusyFailsOnlyWhatNeedsIt) {
  for (int round = 0; round < 4; ++round) {
    run_tcp_ranks(3, [&](Engine& engine) {
      exchange(engine, 1);
      std::vector<float> data(2'000'000, 1.0F);
      Ticket ticket = engine.rank() == 2
                          ? Ticket()
                          : engine.allreduce<float>("big", data, {.op = ReduceOp::sum});
      if (engine.rank() == 2) return;       // its engine shuts down
      EXPECT_EQ(ticket.wait().code(), Code::peer_left);
      std::fill(data.begin(), data.end(), -1.0F);
    }, striped(4, 2));
  }
}

TEST(Connections, RanksThatConnectOnFirstUseExchangeEverything) {
  for (const int size : {2, 3, 9}) {
    Options options;
    options.connect = "first_use";
    options.tree_radix = 2;
    run_tcp_ranks(size, [&](Engine& engine) { exchange(engine, 4); }, options);
  }
}

TEST(Connections, FirstUseWithEveryOrder) {
  for (const char* order : {"coordinator", "tree", "cache", "topo"}) {
    Options options;
    options.connect = "first_use";
    options.tree_radix = 2;
    options.order = order;
    run_tcp_ranks(6, [&](Engine& engine) { exchange(engine, 12); }, options);
  }
}

TEST(Connections, NobodyIsConnectedWithWhomItNeedsNot) {
  Options options;
  options.connect = "first_use";
  options.tree_radix = 2;
  constexpr int kRanks = 12;
  std::atomic<std::uint64_t> most{0};
  std::atomic<int> counted{0};
  run_tcp_ranks(kRanks, [&](Engine& engine) {
    std::vector<float> small(10, 1.0F);
    ASSERT_TRUE(engine.allreduce<float>("small", small, {.op = ReduceOp::sum}).wait().ok());
    EXPECT_EQ(small[0], kRanks);
    const std::uint64_t connections = engine.stats().connections;
    for (std::uint64_t seen = most; connections > seen && !most.compare_exchange_weak(seen, connections);) {
    }
    ++counted;
    while (counted < kRanks) std::this_thread::yield();
  }, options);
  // Parent, two children, two in the ring, and partners at distances 1, 2, 4 (and one of the rest).
  EXPECT_LE(most, 2u * 9);
  EXPECT_GT(most, 0u);
}

// A rank that fails is named by all, although few were connected with it.
TEST(Connections, AnErrorReachesRanksThatNeverMet) {
  Options options;
  options.connect = "first_use";
  options.tree_radix = 2;
  options.stall_limit_s = 1;
  constexpr int kRanks = 9;
  std::atomic<int> named{0};
  run_tcp_ranks(kRanks, [&](Engine& engine) {
    std::vector<float> data(engine.rank() == 7 ? 20 : 10, 1.0F);
    const Status status = engine.allreduce<float>("odd", data, {.op = ReduceOp::sum}).wait();
    EXPECT_EQ(status.code(), Code::mismatch) << status.to_string();
    if (status.message().find("7") != std::string::npos) ++named;
    std::vector<float> after(100, 1.0F);
    EXPECT_TRUE(engine.allreduce<float>("after", after, {.op = ReduceOp::sum}).wait().ok());
  }, options);
  EXPECT_EQ(named, kRanks);
}

TEST(Connections, ARankThatLeavesEarlyIsKnownToThoseItNeverMet) {
  Options options;
  options.connect = "first_use";
  options.tree_radix = 2;
  constexpr int kRanks = 9;
  std::atomic<int> told{0};
  run_tcp_ranks(kRanks, [&](Engine& engine) {
    std::vector<float> data(10, 1.0F);
    ASSERT_TRUE(engine.allreduce<float>("first", data, {.op = ReduceOp::sum}).wait().ok());
    if (engine.rank() == 8) return;         // its engine shuts down
    const Status status = engine.allreduce<float>("second", data, {.op = ReduceOp::sum}).wait();
    EXPECT_EQ(status.code(), Code::peer_left) << status.to_string();
    EXPECT_EQ(status.culprit().rank, 8) << status.to_string();
    ++told;
    while (told < kRanks - 1) std::this_thread::yield();
  }, options);
}

}  // namespace
}  // namespace unisono::engine
