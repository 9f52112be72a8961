// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "affinity/bind.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(Bind, ScopeWithoutCpusDoesNothing) {
  const auto before = bound_cpus();
  const ScopedBinding binding({});
  EXPECT_TRUE(binding.status().ok());
  EXPECT_EQ(bound_cpus(), before);
}

}  // namespace
}  // namespace unisono::affinity
