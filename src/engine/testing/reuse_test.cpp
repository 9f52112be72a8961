// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Process sets and persistent operations come and go: what they took is used again, they stay on
// shared memory, and what is late for one never reaches its successor.
#include <dirent.h>

#include <atomic>

#include "base/data/text.hpp"
#include "base/testing/effort.hpp"
#include "engine/testing/thread_ranks.hpp"

namespace unisono::engine {
namespace {

using Floats = std::vector<float>;

std::size_t open_descriptors() {
  DIR* folder = ::opendir("/proc/self/fd");
  std::size_t count = 0;
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

// What a job may hold on to.
struct Held {
  std::size_t arena, descriptors;
};

template <typename Cycle>
void expect_flat(Engine& engine, int cycles, Cycle cycle) {
  const auto held = [&] {
    // After one barrier all have closed the last one; by the next the engine has it all back.
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(engine.barrier().wait().ok());
    // One rank counts for the whole process, since whoever counts has the folder open.
    const Held now{engine.arena().used(), engine.rank() == 0 ? open_descriptors() : 0};
    EXPECT_TRUE(engine.barrier().wait().ok());
    return now;
  };
  for (int i = 0; i < 3; ++i) cycle(i);
  const Held before = held();
  const std::uint64_t messages = engine.stats().data_bytes;
  for (int i = 3; i < cycles; ++i) {
    cycle(i);
    if (testing::Test::HasFailure()) return;
  }
  const Held after = held();
  EXPECT_LE(after.arena, before.arena) << "the arena fills up";
  EXPECT_EQ(after.descriptors, before.descriptors);
  EXPECT_EQ(engine.stats().data_bytes, messages) << "not in shared memory any more";
}

TEST(Reuse, AThousandProcessSetsOneAfterTheOtherStayInSharedMemory) {
  run_ranks(3, [](Engine& engine) {
    expect_flat(engine, short_of_time() ? 150 : 1000, [&](int i) {
      std::vector<Rank> ranks{0, 1, 2};
      if (i % 4 != 0) ranks.erase(ranks.begin() + i % 3);
      auto set = engine.add_process_set(ranks);
      ASSERT_TRUE(set.ok()) << set.status().to_string();
      if (std::find(ranks.begin(), ranks.end(), engine.rank()) != ranks.end()) {
        Floats data(i % 2 == 0 ? 4 : 100'000, static_cast<float>(engine.rank() + i));
        const Status status =
            engine.allreduce<float>("x", data, {.op = ReduceOp::sum, .process_set = *set}).wait();
        ASSERT_TRUE(status.ok()) << status.to_string();
        float sum = 0;
        for (const Rank rank : ranks) sum += static_cast<float>(rank + i);
        ASSERT_EQ(data.front(), sum);
        ASSERT_EQ(data.back(), sum);
      }
      ASSERT_TRUE(engine.remove_process_set(*set).ok());
    });
  });
}

TEST(Reuse, AThousandPersistentOperationsOneAfterTheOtherStayInSharedMemory) {
  run_ranks(2, [](Engine& engine) {
    expect_flat(engine, short_of_time() ? 150 : 1000, [&](int i) {
      Floats data(i % 2 == 0 ? 4 : 50'000, static_cast<float>(i));
      auto op = engine.prepare_allreduce<float>("p", data, {.op = ReduceOp::sum});
      ASSERT_TRUE(op.ok()) << op.status().to_string();
      ASSERT_TRUE(op->start().wait().ok());
      ASSERT_EQ(data.back(), static_cast<float>(2 * i));
      ASSERT_TRUE(op->release().ok());
      EXPECT_TRUE(op->release().ok()) << "twice is once";
      EXPECT_EQ(op->start().wait().code(), Code::invalid_argument);
    });
  });
}

// A run that never finished leaves messages behind; the next operation must not meet them.
TEST(Reuse, APersistentOperationReleasedInTheMiddleDoesNotDisturbTheNext) {
  for (const char* transport : {"auto", "tcp"}) {
    Options options;
    options.transport = transport;
    run_ranks(2, [](Engine& engine) {
      for (int i = 0; i < 20; ++i) {
        Floats first(1000, 1.0f), second(1000, 1.0f);
        auto op = engine.prepare_allreduce<float>("p", first, {.op = ReduceOp::sum});
        ASSERT_TRUE(op.ok()) << op.status().to_string();
        const Ticket dropped = engine.rank() == i % 2 ? op->start() : Ticket();
        ASSERT_TRUE(op->release().ok());
        auto next = engine.prepare_allreduce<float>("q", second, {.op = ReduceOp::sum});
        ASSERT_TRUE(next.ok()) << next.status().to_string();
        const Status status = next->start().wait();
        ASSERT_TRUE(status.ok()) << status.to_string();
        EXPECT_EQ(second, Floats(1000, 2.0f));
        ASSERT_TRUE(next->release().ok());
      }
    }, options);
  }
}

TEST(Reuse, ReleasingWhatItsSetTookAlongIsNoError) {
  run_ranks(2, [](Engine& engine) {
    Floats data(10, 1.0f);
    auto set = engine.add_process_set({0, 1});
    ASSERT_TRUE(set.ok());
    auto op = engine.prepare_allreduce<float>("p", data, {.process_set = *set});
    ASSERT_TRUE(op.ok() && engine.remove_process_set(*set).ok());
    EXPECT_TRUE(op->release().ok());
    EXPECT_FALSE(op->start().wait().ok());
  });
}

TEST(Reuse, MoreSetsAndPersistentsThanPlacesStillWork) {
  Options options;
  options.log = "off";
  run_ranks(2, [](Engine& engine) {
    Floats data(4, 1.0f);
    std::vector<ProcessSetId> sets;
    std::vector<Persistent> operations;
    for (int i = 0; i < 50; ++i) {
      auto set = engine.add_process_set({0, 1});
      ASSERT_TRUE(set.ok());
      sets.push_back(*set);
      auto op = engine.prepare_allreduce<float>(cat("p", i), data, {.op = ReduceOp::max});
      ASSERT_TRUE(op.ok());
      operations.push_back(*op);
    }
    for (int i = 0; i < 50; ++i) {
      ASSERT_TRUE(operations[static_cast<std::size_t>(i)].start().wait().ok());
      ASSERT_TRUE(
          engine.allreduce<float>("x", data, {.process_set = sets[static_cast<std::size_t>(i)]})
              .wait()
              .ok());
    }
    EXPECT_GT(engine.stats().data_bytes, 0u) << "there are 64 places";
    for (const ProcessSetId set : sets) ASSERT_TRUE(engine.remove_process_set(set).ok());
    for (const Persistent& op : operations) ASSERT_TRUE(op.release().ok());
    // Then there is room again.
    auto set = engine.add_process_set({0, 1});
    ASSERT_TRUE(set.ok());
    const std::uint64_t before = engine.stats().data_bytes;
    ASSERT_TRUE(engine.allreduce<float>("y", data, {.process_set = *set}).wait().ok());
    EXPECT_EQ(engine.stats().data_bytes, before);
  }, options);
}

// Members of overlapping sets have opened different numbers of persistent operations.
TEST(Reuse, PersistentOperationsOfOverlappingSetsDoNotMeet) {
  for (const char* transport : {"auto", "tcp"}) {
    Options options;
    options.transport = transport;
    run_ranks(3, [](Engine& engine) {
      auto left = engine.add_process_set({0, 1}), right = engine.add_process_set({1, 2});
      ASSERT_TRUE(left.ok() && right.ok());
      std::vector<Persistent> operations;
      std::vector<Floats> data(6, Floats(1000, static_cast<float>(engine.rank() + 1)));
      std::vector<float> expected;
      const auto prepare = [&](ProcessSetId set, bool member, float sum) {
        if (!member) return;
        Floats& mine = data[operations.size()];
        auto op =
            engine.prepare_allreduce<float>("p", mine, {.op = ReduceOp::sum, .process_set = set});
        ASSERT_TRUE(op.ok()) << op.status().to_string();
        operations.push_back(*op);
        expected.push_back(sum);
      };
      prepare(*left, engine.rank() <= 1, 3);
      prepare(*left, engine.rank() <= 1, 3);
      prepare(*right, engine.rank() >= 1, 5);
      prepare(kWorld, true, 6);
      std::vector<Ticket> tickets;
      for (const Persistent& op : operations) tickets.push_back(op.start());
      for (std::size_t i = 0; i < tickets.size(); ++i) {
        ASSERT_TRUE(tickets[i].wait().ok()) << tickets[i].wait().to_string();
        EXPECT_EQ(data[i], Floats(1000, expected[i]));
      }
      ASSERT_TRUE(engine.barrier().wait().ok());
    }, options);
  }
}

TEST(Reuse, ARemovedSetFailsWhatWasInFlightAndItsPersistentOperations) {
  run_ranks(2, [](Engine& engine) {
    Floats data(100'000, 1.0f), persistent(4, 1.0f);
    for (int i = 0; i < 40; ++i) {
      auto set = engine.add_process_set({0, 1});
      ASSERT_TRUE(set.ok());
      auto op = engine.prepare_allreduce<float>("p", persistent, {.process_set = *set});
      ASSERT_TRUE(op.ok());
      Ticket stuck, run;
      if (engine.rank() == 0) {             // rank 1 never comes
        stuck = engine.allreduce<float>("x", data, {.process_set = *set});
        run = op->start();
      }
      ASSERT_TRUE(engine.remove_process_set(*set).ok());
      if (engine.rank() == 0) {
        EXPECT_EQ(stuck.wait().code(), Code::shut_down);
        EXPECT_EQ(run.wait().code(), Code::shut_down);
      }
      EXPECT_FALSE(op->start().wait().ok());
      ASSERT_TRUE(engine.allreduce<float>("y", data).wait().ok());
    }
  });
}

}  // namespace
}  // namespace unisono::engine
