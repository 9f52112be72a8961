// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <string>
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

TEST(Placement, OffLeavesEveryThreadAlone) {
  const auto before = affinity::bound_cpus();
  run_ranks(2, [&](Engine& engine) {
    EXPECT_TRUE(engine.barrier().wait().ok());
    EXPECT_THAT(engine.placement().engine, IsEmpty());
    EXPECT_EQ(engine.placement().reason, "cpu_sets is off");
    EXPECT_THAT(masks_of("unisono-engine"), Each(before));
    EXPECT_TRUE(engine.barrier().wait().ok());
  });
}

TEST(Placement, MoreRanksThanCoresGoOnWithoutSetsAndSayWhy) {
  Options options;
  options.cpu_sets = "0.5";
  options.log = "error";
  const int ranks = static_cast<int>(affinity::bound_cpus().size()) + 1;
  if (ranks > 16) GTEST_SKIP() << "needs a machine with fewer CPUs";
  run_ranks(ranks, [](Engine& engine) {
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
