// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/data/text.hpp"
#include "engine/testing/thread_ranks.hpp"
#include "affinity/bind.hpp"

namespace unisono::engine {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

// The CPUs of every thread of this process that has the given name, as the kernel reports.
std::vector<std::vector<int>> masks_of(const std::string& name) {
  std::vector<std::vector<int>> masks;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string called;
    std::getline(std::ifstream(task.path() / "comm") >> std::ws, called);
    cpu_set_t set;
    CPU_ZERO(&set);
    const int id = std::stoi(task.path().filename());
    if (called != name || ::sched_getaffinity(id, sizeof set, &set) != 0) continue;
    masks.emplace_back();
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) masks.back().push_back(cpu);
    }
  }
  return masks;
}

TEST(Placement, EngineThreadsRunOnTheirSetAndTheCallerKeepsItsMask) {
  const auto before = affinity::bound_cpus();
  if (before.size() < 2) GTEST_SKIP() << "needs two CPUs";
  Options options;
  options.cpu_sets = cat("engine=", before[0], ";input=;compute=", before[1]);
  options.teams = 2;
  options.team_threads = 2;
  run_ranks(2, [&](Engine& engine) {
    const std::vector<int> mine{before[0]};
    EXPECT_EQ(affinity::bound_cpus(), before);
    EXPECT_EQ(engine.placement().engine, mine);
    EXPECT_THAT(engine.placement().input, IsEmpty());
    EXPECT_EQ(engine.placement().compute, std::vector<int>{before[1]});
    std::vector<float> ones(100'000, 1);
    // After an exchange every rank's threads are up and carry their names.
    EXPECT_TRUE(engine.allreduce<float>("t", ones, {.op = ReduceOp::sum}).wait().ok());
    EXPECT_EQ(ones[0], 2);
    EXPECT_TRUE(engine.barrier().wait().ok());
    for (const char* name : {"unisono-engine", "unisono-mover", "unisono-crew"}) {
      EXPECT_THAT(masks_of(name), testing::AllOf(testing::Not(IsEmpty()), Each(mine))) << name;
    }
    EXPECT_TRUE(engine.barrier().wait().ok());
  }, options);
}

TEST(Placement, ThreadsOfTheProgramAreBoundWhenTheyAsk) {
  const auto before = affinity::bound_cpus();
  if (before.size() < 2) GTEST_SKIP() << "needs two CPUs";
  Options options;
  options.cpu_sets = cat("engine=", before[0], ";input=;compute=", before[1]);
  run_ranks(2, [&](Engine& engine) {
    auto bound = engine.bind_compute();
    ASSERT_TRUE(bound.ok()) << bound.status().to_string();
    EXPECT_EQ(*bound, 1);               // a rank that is a thread binds no other rank
    EXPECT_EQ(affinity::bound_cpus(), engine.placement().compute);
    std::thread([&] {
      EXPECT_TRUE(engine.bind_input().ok());
      EXPECT_EQ(affinity::bound_cpus(), engine.placement().compute);
    }).join();
    EXPECT_TRUE(engine.barrier().wait().ok());
  }, options);
  options.bind_compute = true;
  run_ranks(2, [&](Engine& engine) {
    EXPECT_EQ(affinity::bound_cpus(), engine.placement().compute);
    EXPECT_TRUE(engine.barrier().wait().ok());
  }, options);
  EXPECT_EQ(affinity::bound_cpus(), before);
}

TEST(Placement, AProcessWithOneRankBindsAllItsThreadsButTheEngines) {
  const auto before = affinity::bound_cpus();
  if (before.size() < 2) GTEST_SKIP() << "needs two CPUs";
  Options options;
  options.cpu_sets = cat("engine=", before[0], ";input=;compute=", before[1]);
  std::atomic<bool> over{false};
  std::thread pool([&] {                // made before the engine, as a pool of OpenMP is
    ::pthread_setname_np(::pthread_self(), "pool");
    over.wait(false);
  });
  {
    auto engine = Engine::join(options, [](const std::string&) { return std::nullopt; });
    ASSERT_TRUE(engine.ok()) << engine.status().to_string();
    auto bound = engine->bind_compute();
    ASSERT_TRUE(bound.ok()) << bound.status().to_string();
    EXPECT_GE(*bound, 2);
    EXPECT_EQ(affinity::bound_cpus(), engine->placement().compute);
    EXPECT_THAT(masks_of("pool"), testing::ElementsAre(engine->placement().compute));
    EXPECT_THAT(masks_of("unisono-engine"), Each(engine->placement().engine));
  }
  over = true;
  over.notify_all();
  pool.join();
  EXPECT_TRUE(affinity::bind_this_thread(before).ok());
}

TEST(Placement, OffLeavesEveryThreadAlone) {
  const auto before = affinity::bound_cpus();
  run_ranks(2, [&](Engine& engine) {
    EXPECT_TRUE(engine.barrier().wait().ok());
    EXPECT_THAT(engine.placement().engine, IsEmpty());
    EXPECT_EQ(engine.placement().reason, "cpu_sets is off");
    EXPECT_EQ(engine.bind_compute().value(), 0);
    EXPECT_TRUE(engine.bind_input().ok());
    EXPECT_EQ(affinity::bound_cpus(), before);
    EXPECT_THAT(masks_of("unisono-engine"), Each(before));
    EXPECT_TRUE(engine.barrier().wait().ok());
  });
}

TEST(Placement, MoreRanksThanCoresGoOnWithoutSetsAndSayWhy) {
  Options options;
  options.cpu_sets = "0.5";
  options.log = "error";
  options.bind_compute = true;
  const auto before = affinity::bound_cpus();
  const int ranks = static_cast<int>(before.size()) + 1;
  if (ranks > 16) GTEST_SKIP() << "needs a machine with fewer CPUs";
  run_ranks(ranks, [&](Engine& engine) {
    EXPECT_EQ(affinity::bound_cpus(), before);
    EXPECT_THAT(engine.placement().engine, IsEmpty());
    EXPECT_THAT(engine.placement().reason, HasSubstr("no CPU sets"));
  }, options);
}

TEST(Placement, ForbiddenCpuIsRefusedAtJoin) {
  Options options;
  options.cpu_sets = "engine=1023;compute=0";
  ThreadWorld world(1);
  const auto engine = Engine::join(options, world, 0);
  ASSERT_FALSE(engine.ok());
  EXPECT_EQ(engine.status().code(), Code::invalid_argument);
  EXPECT_THAT(engine.status().message(), HasSubstr("1023"));
}

}  // namespace
}  // namespace unisono::engine
