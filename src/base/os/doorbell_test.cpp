// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "base/os/doorbell.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <memory>
#include <thread>

#include "base/os/poller.hpp"

namespace unisono {
namespace {

using namespace std::chrono_literals;

bool rings(Doorbell& bell, Nanos limit) {
  Poller poller;
  poller.watch(bell.fd(), 1, true, false);
  return !poller.wait(limit).empty();
}

TEST(Doorbell, IsQuietUntilArmed) {
  Doorbell bell;
  bell.ringer().ring();
  EXPECT_FALSE(rings(bell, 0ns)) << "ringing an unarmed bell costs no system call";
  bell.arm();
  bell.ringer().ring();
  EXPECT_TRUE(rings(bell, 0ns));
}

TEST(Doorbell, DrainMakesItQuietAgain) {
  Doorbell bell;
  bell.ringer().ring_always();
  bell.ringer().ring_always();
  bell.drain();
  EXPECT_FALSE(rings(bell, 0ns));
  bell.drain();
}

TEST(Doorbell, WakesASleeperOnAnotherThreadEveryTime) {
  Doorbell bell;
  Poller poller;
  poller.watch(bell.fd(), 0, true, false);
  constexpr int kRounds = 3000;
  std::atomic<int> work{0}, seen{0};
  std::thread ringer([&] {
    for (int i = 1; i <= kRounds; ++i) {
      work.store(i, std::memory_order_relaxed);
      bell.ringer().ring();
      while (seen.load() < i) std::this_thread::yield();
    }
  });
  bool lost = false;
  for (int have = 0; have < kRounds;) {
    bell.arm();
    if (work.load(std::memory_order_relaxed) == have && poller.wait(20s).empty()) lost = true;
    bell.disarm();
    bell.drain();
    have = work.load(std::memory_order_relaxed);
    seen.store(have);
  }
  ringer.join();
  EXPECT_FALSE(lost);
}

TEST(Doorbell, WorksAcrossProcesses) {
  Doorbell bell;
  if (bell.page()->memory_fd() < 0) GTEST_SKIP() << "no memfd on this machine";
  bell.arm();
  const Ringer ringer = bell.ringer();
  const pid_t child = ::fork();
  if (child == 0) {
    ringer.ring();
    ::_exit(0);
  }
  EXPECT_TRUE(rings(bell, 20s));
  ::waitpid(child, nullptr, 0);
}

TEST(Doorbell, MayBeRungAfterItsOwnerIsGone) {
  auto bell = std::make_unique<Doorbell>();
  bell->arm();
  const auto page = bell->page();
  const Ringer ringer = bell->ringer();
  bell.reset();
  ringer.ring();
}

TEST(Doorbell, WakesOnlyForWhatItWasArmedFor) {
  Doorbell bell;
  bell.arm(kRingForWork);
  EXPECT_TRUE(bell.ringer().wants(kRingForWork));
  EXPECT_FALSE(bell.ringer().wants(kRingForProgress));
  bell.disarm();
  EXPECT_FALSE(bell.ringer().wants(kRingForWork));
}

}  // namespace
}  // namespace unisono
