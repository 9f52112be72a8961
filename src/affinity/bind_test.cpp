// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "affinity/bind.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace unisono::affinity {
namespace {

// Each body runs on a thread of its own, whose mask it may change.
template <typename Body>
void on_a_thread(Body body) {
  std::thread(body).join();
}

TEST(Bind, IsProvenByReadingBack) {
  on_a_thread([] {
    const int last = bound_cpus().back();
    EXPECT_TRUE(bind_this_thread(std::vector{last}).ok());
    EXPECT_EQ(bound_cpus(), std::vector{last});
  });
}

TEST(Bind, RefusesWhatTheKernelDoesNotGive) {
  on_a_thread([] {
    const auto before = bound_cpus();
    EXPECT_EQ(bind_this_thread(std::vector<int>{}).code(), Code::unavailable);
    EXPECT_EQ(bound_cpus(), before);
    const Status status = bind_this_thread(std::vector{before.back(), 1023});
    EXPECT_EQ(status.code(), Code::unavailable);
    EXPECT_THAT(status.message(), testing::HasSubstr("1023"));
  });
}

TEST(Bind, ThreadsInheritTheScopesMaskAndTheCallerGetsItsOwnBack) {
  on_a_thread([] {
    const auto before = bound_cpus();
    const std::vector<int> one{before.front()};
    std::vector<int> inherited;
    {
      const ScopedBinding binding(one);
      ASSERT_TRUE(binding.status().ok());
      std::thread([&] { inherited = bound_cpus(); }).join();
    }
    EXPECT_EQ(inherited, one);
    EXPECT_EQ(bound_cpus(), before);
  });
}

TEST(Bind, AllThreadsOfTheProcessButThoseSpared) {
  const auto before = bound_cpus();
  if (before.size() < 2) GTEST_SKIP() << "needs two CPUs";
  const std::vector<int> first{before[0]}, last{before.back()};
  std::atomic<int> ready{0};
  std::atomic<bool> look{false};
  std::vector<int> of_free, of_spared;
  const auto sleeper = [&](std::vector<int>& seen) {
    ++ready;
    look.wait(false);
    seen = bound_cpus();
  };
  std::thread free([&] { sleeper(of_free); });
  std::thread spared([&] {
    EXPECT_TRUE(bind_this_thread(first).ok());
    sleeper(of_spared);
  });
  while (ready < 2) std::this_thread::yield();
  auto bound = bind_process_threads(last, std::vector<std::vector<int>>{first});
  look = true;
  look.notify_all();
  free.join();
  spared.join();
  ASSERT_TRUE(bound.ok()) << bound.status().to_string();
  EXPECT_EQ(*bound, 2);
  EXPECT_EQ(bound_cpus(), last);
  EXPECT_EQ(of_free, last);
  EXPECT_EQ(of_spared, first);
  EXPECT_TRUE(bind_this_thread(before).ok());
}

TEST(Bind, ScopeWithoutCpusDoesNothing) {
  const auto before = bound_cpus();
  const ScopedBinding binding({});
  EXPECT_TRUE(binding.status().ok());
  EXPECT_EQ(bound_cpus(), before);
}

}  // namespace
}  // namespace unisono::affinity
