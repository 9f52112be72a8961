// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "base/inbox.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "base/os/poller.hpp"

namespace unisono {
namespace {

using namespace std::chrono_literals;

TEST(Inbox, TakesInTheOrderOfPushing) {
  Doorbell bell;
  Inbox<int> inbox(bell.ringer());
  EXPECT_TRUE(inbox.empty());
  EXPECT_TRUE(inbox.push(1));
  EXPECT_TRUE(inbox.push_quietly(2));
  EXPECT_TRUE(inbox.push(3));
  EXPECT_FALSE(inbox.empty());
  std::vector<int> out = {99};
  inbox.take(out);
  EXPECT_EQ(out, (std::vector<int>{1, 2, 3}));
  inbox.take(out);
  EXPECT_TRUE(out.empty());
}

TEST(Inbox, HoldsWhatCannotBeCopied) {
  Doorbell bell;
  Inbox<std::unique_ptr<int>> inbox(bell.ringer());
  EXPECT_TRUE(inbox.push(std::make_unique<int>(5)));
  std::vector<std::unique_ptr<int>> out;
  inbox.take(out);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(*out[0], 5);
}

TEST(Inbox, GivesWhatNobodyTookWhenClosedAndRefusesTheRest) {
  Doorbell bell;
  Inbox<std::unique_ptr<int>> inbox(bell.ringer());
  EXPECT_TRUE(inbox.push(std::make_unique<int>(1)));
  const auto left = inbox.close();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(*left[0], 1);
  EXPECT_TRUE(inbox.empty());
  auto late = std::make_unique<int>(2);
  EXPECT_FALSE(inbox.push(std::move(late)));
  ASSERT_NE(late, nullptr) << "what is refused stays with who pushed it";
  EXPECT_TRUE(inbox.empty());
  EXPECT_TRUE(inbox.close().empty());
}

TEST(Inbox, EveryItemIsTakenOrGivenBackOrRefusedWhenClosedInARace) {
  for (int round = 0; round < 200; ++round) {
    Doorbell bell;
    Inbox<int> inbox(bell.ringer());
    std::atomic<int> accepted{0};
    std::vector<std::thread> pushers;
    for (int t = 0; t < 3; ++t) {
      pushers.emplace_back([&] {
        for (int i = 0; i < 50; ++i) accepted += inbox.push(int{i}) ? 1 : 0;
      });
    }
    std::vector<int> out;
    inbox.take(out);
    const std::size_t found = out.size() + inbox.close().size();
    for (std::thread& pusher : pushers) pusher.join();
    EXPECT_EQ(found, static_cast<std::size_t>(accepted.load()));
    EXPECT_TRUE(inbox.empty());
  }
}

// The owner sleeps by the doorbell protocol. The only time limit is the one that fails the test, so
// that a lost wake-up is not hidden.
TEST(Inbox, LosesNothingWhenManyThreadsPushToASleepingOwner) {
  constexpr int kThreads = 4, kEach = 2000;
  Doorbell bell;
  Poller poller;
  poller.watch(bell.fd(), 0, true, false);
  Inbox<int> inbox(bell.ringer());

  std::vector<std::thread> pushers;
  for (int t = 0; t < kThreads; ++t) {
    pushers.emplace_back([&inbox, t] {
      for (int i = 0; i < kEach; ++i) {
        EXPECT_TRUE(inbox.push(t * kEach + i));
        if (i % 64 == 0) std::this_thread::yield();
      }
    });
  }

  std::vector<int> next(kThreads, 0), out;
  int taken = 0;
  while (taken < kThreads * kEach) {
    bell.arm();
    const bool slept_well = !inbox.empty() || !poller.wait(20s).empty();
    bell.disarm();
    bell.drain();
    if (!slept_well && inbox.empty()) break;
    inbox.take(out);
    for (const int item : out) EXPECT_EQ(item % kEach, next[item / kEach]++);
    taken += static_cast<int>(out.size());
  }
  for (std::thread& pusher : pushers) pusher.join();
  EXPECT_EQ(taken, kThreads * kEach) << "a wake-up was lost";
}

}  // namespace
}  // namespace unisono
