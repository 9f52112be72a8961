// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The whole engine with ranks as threads: every collective, from any thread, in any order.
// Long because it is the list of what callers of an engine may rely on.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <numeric>
#include <set>

#include "base/data/rng.hpp"
#include "base/data/text.hpp"
#include "engine/testing/thread_ranks.hpp"

namespace unisono::engine {
namespace {

using Floats = std::vector<float>;

Floats floats(const Ticket& ticket) {
  const Output output = ticket.output();
  Floats values(output.bytes.size() / sizeof(float));
  std::memcpy(values.data(), output.bytes.data(), output.bytes.size());
  return values;
}

class EveryWorld : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, EveryWorld, testing::Values(1, 2, 3, 4, 5, 7, 8, 13, 17));

TEST_P(EveryWorld, AllreduceSumsAndAverages) {
  run_ranks(GetParam(), [](Engine& engine) {
    const int n = engine.size();
    for (std::size_t count :
         {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{70001}}) {
      Floats sum(count, static_cast<float>(engine.rank() + 1)), average = sum;
      const Ticket a = engine.allreduce<float>("sum", sum, {.op = ReduceOp::sum});
      const Ticket b = engine.allreduce<float>("average", average);
      ASSERT_TRUE(a.wait().ok());
      ASSERT_TRUE(b.wait().ok());
      const float total = static_cast<float>(n * (n + 1)) / 2;
      EXPECT_EQ(sum, Floats(count, total));
      for (float value : average) EXPECT_NEAR(value, total / static_cast<float>(n), 1e-5);
    }
  });
}

TEST_P(EveryWorld, BroadcastAllgatherReducescatterAlltoallBarrier) {
  run_ranks(GetParam(), [](Engine& engine) {
    const int n = engine.size(), me = engine.rank();
    Floats data(257, static_cast<float>(me));
    ASSERT_TRUE(engine.broadcast<float>("b", data, n - 1).wait().ok());
    EXPECT_EQ(data, Floats(257, static_cast<float>(n - 1)));

    const Floats rows(static_cast<std::size_t>(me), static_cast<float>(me));
    const Ticket gather = engine.allgather<float>("g", rows);
    ASSERT_TRUE(gather.wait().ok());
    Floats expected;
    for (int r = 0; r < n; ++r)
      expected.insert(expected.end(), static_cast<std::size_t>(r), static_cast<float>(r));
    EXPECT_EQ(floats(gather), expected);

    Floats whole(static_cast<std::size_t>(n) + 1);
    std::iota(whole.begin(), whole.end(), 0.0f);
    const Ticket scatter = engine.reducescatter<float>("rs", whole, {.op = ReduceOp::sum});
    ASSERT_TRUE(scatter.wait().ok());
    const Floats part = floats(scatter);
    ASSERT_EQ(part.size(), me == 0 ? 2u : 1u);  // earlier ranks get the remainder rows
    EXPECT_EQ(part.back(), static_cast<float>(n * (me + 1)));

    Floats outgoing(static_cast<std::size_t>(n));
    for (int r = 0; r < n; ++r)
      outgoing[static_cast<std::size_t>(r)] = static_cast<float>(me * 100 + r);
    const Ticket exchange = engine.alltoall<float>("a2a", outgoing);
    ASSERT_TRUE(exchange.wait().ok());
    const Floats incoming = floats(exchange);
    for (int r = 0; r < n; ++r)
      EXPECT_EQ(incoming[static_cast<std::size_t>(r)], static_cast<float>(r * 100 + me));
    EXPECT_EQ(exchange.output().splits, std::vector<std::int64_t>(static_cast<std::size_t>(n), 1));

    ASSERT_TRUE(engine.barrier().wait().ok());
  });
}

TEST_P(EveryWorld, RandomOrdersFromSeveralThreadsGiveOneOrder) {
  constexpr int kTensors = 60, kThreads = 3;
  std::mutex mutex;
  std::set<std::uint64_t> digests;
  run_ranks(GetParam(), [&](Engine& engine) {
    std::vector<Floats> data(kTensors);
    std::vector<Ticket> tickets(kTensors);
    std::vector<int> order(kTensors);
    std::iota(order.begin(), order.end(), 0);
    Rng rng(static_cast<std::uint64_t>(engine.rank()) + 7);
    rng.shuffle(order);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = t; i < kTensors; i += kThreads) {
          const auto k = static_cast<std::size_t>(order[static_cast<std::size_t>(i)]);
          data[k].assign(k * 13 + 1, static_cast<float>(k));
          tickets[k] = engine.allreduce<float>(cat("t", k), data[k], {.op = ReduceOp::sum});
        }
      });
    }
    for (auto& thread : threads) thread.join();
    for (std::size_t k = 0; k < kTensors; ++k) {
      ASSERT_TRUE(tickets[k].wait().ok());
      EXPECT_EQ(data[k].back(), static_cast<float>(k) * static_cast<float>(engine.size()));
    }
    ASSERT_TRUE(engine.barrier().wait().ok());
    std::lock_guard lock(mutex);
    digests.insert(engine.stats().order_digest);
  });
  EXPECT_EQ(digests.size(), 1u);
}

TEST(Engine, MismatchFailsOnEveryRankAndLeavesTensorsUntouched) {
  run_ranks(3, [](Engine& engine) {
    Floats data(engine.rank() == 2 ? 5 : 4, 3.0f);
    const Status status = engine.allreduce<float>("w", data).wait();
    EXPECT_EQ(status.code(), Code::mismatch);
    EXPECT_EQ(status.message().find("Mismatched ALLREDUCE tensor shapes"), 0u) << status.message();
    EXPECT_EQ(data, Floats(data.size(), 3.0f));
    Floats again(4, 1.0f);
    EXPECT_TRUE(engine.allreduce<float>("w", again).wait().ok()) << "the engine lives on";
  });
}

TEST(Engine, DuplicateNameIsRefusedAtOnce) {
  run_ranks(2, [](Engine& engine) {
    Floats a(8, 1.0f), b(8, 1.0f);
    // Rank 1 comes later, so that rank 0's first one is surely in flight.
    if (engine.rank() == 1) {
      EXPECT_TRUE(engine.barrier().wait().ok());
    }
    const Ticket first = engine.allreduce<float>("same", a);
    if (engine.rank() == 0) {
      const Ticket second = engine.allreduce<float>("same", b);
      EXPECT_TRUE(second.done());
      EXPECT_EQ(second.wait().code(), Code::duplicate_name);
      EXPECT_TRUE(engine.barrier().wait().ok());
    }
    EXPECT_TRUE(first.wait().ok());
  });
}

TEST(Engine, BadArgumentsAreRefusedAtTheDoor) {
  run_ranks(1, [](Engine& engine) {
    Floats data(4);
    EXPECT_EQ(engine.allreduce<float>("", data).wait().code(), Code::invalid_argument);
    EXPECT_EQ(engine.broadcast<float>("b", data, 7).wait().code(), Code::invalid_argument);
    EXPECT_EQ(engine.allreduce<float>("s", data, {.process_set = 9}).wait().code(),
              Code::invalid_argument);
    EXPECT_EQ(engine.alltoall<float>("a", data, {.splits = {1, 2}}).wait().code(),
              Code::invalid_argument);
    EXPECT_EQ(engine.allreduce<float>("o", data, {.op = ReduceOp::logical_or}).wait().code(),
              Code::invalid_argument);
    EXPECT_FALSE(engine.add_process_set({0, 0}).ok());
    EXPECT_FALSE(engine.remove_process_set(0).ok());
  });
}

TEST(Engine, GroupsRunAsOneUnit) {
  run_ranks(3, [](Engine& engine) {
    std::vector<Floats> data(3, Floats(100, 1.0f));
    std::vector<Operation> operations;
    for (std::size_t i = 0; i < data.size(); ++i) {
      operations.push_back({.kind = Collective::allreduce, .name = cat("g.", i), .shape = {100},
                            .input = data[i].data(), .output = data[i].data()});
    }
    for (const Ticket& ticket :
         engine.submit_group("g", std::move(operations), {.op = ReduceOp::sum})) {
      EXPECT_TRUE(ticket.wait().ok());
    }
    for (const Floats& tensor : data) EXPECT_EQ(tensor, Floats(100, 3.0f));
  });
}

TEST(Engine, ProcessSetsRunBesideEachOther) {
  run_ranks(4, [](Engine& engine) {
    const auto even = engine.add_process_set({0, 2});
    const auto odd = engine.add_process_set({1, 3});
    ASSERT_TRUE(even.ok() && odd.ok());
    const ProcessSetId mine = engine.rank() % 2 == 0 ? even.value() : odd.value();
    const ProcessSetId other = engine.rank() % 2 == 0 ? odd.value() : even.value();
    for (int i = 0; i < 20; ++i) {
      Floats data(50, static_cast<float>(engine.rank()));
      const Settings settings{.op = ReduceOp::sum, .process_set = mine};
      ASSERT_TRUE(engine.allreduce<float>("x", data, settings).wait().ok());
      EXPECT_EQ(data[0], engine.rank() % 2 == 0 ? 2.0f : 4.0f);
    }
    Floats data(1);
    EXPECT_EQ(engine.allreduce<float>("y", data, {.process_set = other}).wait().code(),
              Code::invalid_argument);
    EXPECT_TRUE(engine.remove_process_set(even.value()).ok());
    EXPECT_TRUE(engine.process_set(even.value()).empty());
  });
}

TEST(Engine, JoinedRanksGiveTheNeutralElement) {
  run_ranks(3, [](Engine& engine) {
    for (int step = 0; step <= engine.rank(); ++step) {
      Floats sum(10, 1.0f), smallest(10, 5.0f);
      ASSERT_TRUE(engine.allreduce<float>(cat("s", step), sum, {.op = ReduceOp::sum}).wait().ok());
      ASSERT_TRUE(
          engine.allreduce<float>(cat("m", step), smallest, {.op = ReduceOp::min}).wait().ok());
      EXPECT_EQ(sum[0], static_cast<float>(3 - step));
      EXPECT_EQ(smallest[0], 5.0f);
    }
    const Ticket join = engine.join_ranks();
    ASSERT_TRUE(join.wait().ok());
    EXPECT_EQ(join.output().value, 2);
  });
}

TEST(Engine, WaitForGivesTimedOutAndTheOperationGoesOn) {
  run_ranks(2, [](Engine& engine) {
    Floats data(4, 1.0f);
    if (engine.rank() == 1) {
      // Rank 0 submits only after this rank has seen the deadline pass.
      const Ticket ticket = engine.allreduce<float>("late", data);
      EXPECT_EQ(ticket.wait_for(std::chrono::milliseconds(20)).code(), Code::timed_out);
      EXPECT_TRUE(engine.barrier().wait().ok());
      EXPECT_TRUE(ticket.wait().ok());
    } else {
      EXPECT_TRUE(engine.barrier().wait().ok());
      EXPECT_TRUE(engine.allreduce<float>("late", data).wait().ok());
    }
  });
}

TEST(Engine, AnExceptionInACallbackIsReportedByWait) {
  run_ranks(2, [](Engine& engine) {
    Floats data(4, 1.0f);
    Settings settings;
    settings.on_done = [](const Status&) { throw std::runtime_error("boom"); };
    const Status status = engine.allreduce<float>("cb", data, settings).wait();
    EXPECT_EQ(status.code(), Code::internal);
    EXPECT_NE(status.message().find("boom"), std::string::npos);
    EXPECT_TRUE(engine.barrier().wait().ok());
  });
}

TEST(Engine, WaitingInsideACallbackIsRefusedInsteadOfHanging) {
  run_ranks(1, [](Engine& engine) {
    Floats data(4, 1.0f), other(4, 1.0f);
    Ticket inner;
    Status refusal;
    Settings settings;
    settings.on_done = [&](const Status&) {
      inner = engine.allreduce<float>("inner", other);
      refusal = inner.wait_for(std::chrono::seconds(5));
    };
    EXPECT_TRUE(engine.allreduce<float>("outer", data, settings).wait().ok());
    EXPECT_EQ(refusal.code(), Code::invalid_argument);
    EXPECT_TRUE(inner.wait().ok()) << "outside the callback it may be waited for";
  });
}

TEST(Engine, SomeoneLeavingFailsWhatNeedsThem) {
  run_ranks(3, [](Engine& engine) {
    ASSERT_TRUE(engine.barrier().wait().ok());
    if (engine.rank() == 1) return engine.shutdown();
    Floats data(4, 2.0f);
    const Status status = engine.allreduce<float>("needs all", data).wait();
    EXPECT_EQ(status.code(), Code::peer_left) << status.to_string();
    EXPECT_EQ(data, Floats(4, 2.0f));
  });
}

TEST(Engine, UseAfterShutdownIsAClearError) {
  run_ranks(2, [](Engine& engine) {
    engine.shutdown();
    engine.shutdown();
    Floats data(4);
    EXPECT_EQ(engine.allreduce<float>("x", data).wait().code(), Code::shut_down);
  });
}

TEST(Engine, AForkedChildIsToldThatTheEngineIsNotIts) {
  run_ranks(1, [](Engine& engine) {
    Floats data(4);
    const pid_t child = ::fork();
    if (child == 0)
      ::_exit(engine.allreduce<float>("x", data).wait().code() == Code::forked ? 0 : 1);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_TRUE(engine.allreduce<float>("x", data).wait().ok()) << "the parent goes on";
  });
}

TEST(Engine, DifferentOptionsAreRefusedNamingBoth) {
  ThreadWorld world(2);
  std::atomic<int> refused = 0;
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      Options options;
      options.fusion_bytes = rank == 0 ? 1 << 20 : 2 << 20;
      options.join_timeout_s = 0.2;
      const auto engine = Engine::join(options, world, rank);
      ASSERT_FALSE(engine.ok());
      if (engine.status().code() == Code::refused) {
        ++refused;
        EXPECT_NE(engine.status().message().find("fusion_bytes"), std::string::npos);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(refused, 1);
}

TEST_P(EveryWorld, PersistentOperationsRunInAnyOrder) {
  run_ranks(GetParam(), [](Engine& engine) {
    Floats small(2, 1.0f), large(50'000, 1.0f);
    auto a = engine.prepare_allreduce<float>("a", small, {.op = ReduceOp::sum});
    auto b = engine.prepare_allreduce<float>("b", large, {.op = ReduceOp::sum});
    ASSERT_TRUE(a.ok() && b.ok()) << a.status().to_string() << b.status().to_string();
    const auto n = static_cast<float>(engine.size());
    for (int i = 0; i < 30; ++i) {
      small.assign(2, static_cast<float>(i));
      large.assign(50'000, static_cast<float>(i));
      // Odd and even ranks start them in opposite order.
      const bool swap = (engine.rank() + i) % 2 == 0;
      const Ticket first = swap ? a->start() : b->start(), second = swap ? b->start() : a->start();
      ASSERT_TRUE(first.wait().ok() && second.wait().ok());
      EXPECT_EQ(small[1], static_cast<float>(i) * n);
      EXPECT_EQ(large[49'999], static_cast<float>(i) * n);
    }
  });
}

TEST(Engine, APersistentOperationStartedTwiceIsRefused) {
  run_ranks(2, [](Engine& engine) {
    Floats data(4, 1.0f);
    auto op = engine.prepare_allreduce<float>("p", data);
    ASSERT_TRUE(op.ok());
    // Rank 1 starts late, so rank 0's first run cannot be done when it starts the second.
    if (engine.rank() == 0) {
      const Ticket first = op->start(), second = op->start();
      EXPECT_EQ(second.wait().code(), Code::duplicate_name);
      EXPECT_TRUE(engine.barrier().wait().ok());
      EXPECT_TRUE(first.wait().ok());
    } else {
      EXPECT_TRUE(engine.barrier().wait().ok());
      EXPECT_TRUE(op->start().wait().ok());
    }
  });
}

TEST(Engine, PreparingDifferentShapesIsAMismatchOnEveryRank) {
  run_ranks(2, [](Engine& engine) {
    Floats data(engine.rank() == 0 ? 4 : 5, 1.0f);
    EXPECT_EQ(engine.prepare_allreduce<float>("p", data).status().code(), Code::mismatch);
  });
}

TEST_P(EveryWorld, ArenaTensorsAreReducedWhereTheyStand) {
  run_ranks(GetParam(), [](Engine& engine) {
    for (std::size_t count : {std::size_t{3}, std::size_t{300'000}}) {
      const auto block = engine.arena().allocate(count * sizeof(float));
      ASSERT_TRUE(block.ok()) << block.status().to_string();
      const auto data = block.value().as<float>();
      EXPECT_EQ(data[count - 1], 0.0f);
      for (int step = 1; step < 4; ++step) {
        std::fill(data.begin(), data.end(), static_cast<float>(step));
        ASSERT_TRUE(engine.allreduce<float>("x", data, {.op = ReduceOp::sum}).wait().ok());
        for (float value : {data[0], data[count / 2], data[count - 1]}) {
          EXPECT_EQ(value, static_cast<float>(step * engine.size()));
        }
        ASSERT_TRUE(engine.barrier().wait().ok());
      }
    }
  });
}

TEST(Engine, BucketsTooLargeForTheArenaTravelAsMessages) {
  Options options;
  options.arena_bytes = 16 << 20;
  run_ranks(2, [](Engine& engine) {
    const auto block = engine.arena().allocate(std::size_t{64} << 20);
    EXPECT_EQ(block.status().code(), Code::out_of_memory);
    std::vector<float> data(8 << 20, 1.0f);
    const Status status = engine.allreduce<float>("large", data).wait();
    EXPECT_TRUE(status.ok()) << status.to_string();
    EXPECT_EQ(data[0], 1.0f);
  }, options);
}

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGE_SIZE));
}

TEST(Engine, MemoryIsFlatOverAHundredThousandOperations) {
#ifdef UNISONO_SANITIZED
  GTEST_SKIP() << "sanitisers keep freed memory aside, so the process grows by itself";
#endif
  run_ranks(2, [](Engine& engine) {
    Floats small(4, 1.0f), large(20'000, 1.0f);
    auto persistent = engine.prepare_allreduce<float>("p", small);
    ASSERT_TRUE(persistent.ok());
    const auto run = [&](int operations) {
      for (int i = 0; i < operations / 2; ++i) {
        ASSERT_TRUE(persistent->start().wait().ok());
        ASSERT_TRUE(engine.allreduce<float>("n", i % 100 == 0 ? large : small).wait().ok());
      }
    };
    run(2000);
    ASSERT_TRUE(engine.barrier().wait().ok());
    const std::size_t before = resident_bytes();
    run(100'000);
    ASSERT_TRUE(engine.barrier().wait().ok());
    EXPECT_LT(resident_bytes(), before + (std::size_t{1} << 20));
  });
}

TEST(Engine, TwoEnginesInOneProcess) {
  ThreadWorld first(1), second(1);
  auto a = Engine::join({}, first, 0), b = Engine::join({}, second, 0);
  ASSERT_TRUE(a.ok() && b.ok());
  Floats data(4, 1.0f);
  EXPECT_TRUE(a->allreduce<float>("x", data).wait().ok());
  EXPECT_TRUE(b->allreduce<float>("x", data).wait().ok());
}

}  // namespace
}  // namespace unisono::engine
