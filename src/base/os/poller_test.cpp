// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "base/os/poller.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/testing/deny_call.hpp"
#include "base/alarm_clock.hpp"
#include "base/os/doorbell.hpp"

namespace unisono {
namespace {

using namespace std::chrono_literals;

struct Pair {
  Pair() {
    int fds[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    near = Fd(fds[0]);
    far = Fd(fds[1]);
  }
  Fd near, far;
};

TEST(Poller, GivesTheKeyOfWhatIsReady) {
  Pair a, b;
  Poller poller;
  poller.watch(a.near.get(), 11, true, false);
  poller.watch(b.near.get(), 22, true, false);
  ASSERT_EQ(::write(b.far.get(), "x", 1), 1);
  const auto ready = poller.wait(5s);
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_EQ(ready[0].key, 22u);
  EXPECT_TRUE(ready[0].readable);
  EXPECT_FALSE(ready[0].writable);
  EXPECT_FALSE(ready[0].hung_up);
}

TEST(Poller, NamesTheStreamsThatHaveNewsEvenWhileTheyAreMuted) {
  Pair a, b;
  Poller poller;
  std::vector<std::uint64_t> keys;
  poller.ready_streams(keys);
  poller.watch_stream(a.near.get(), 11, true, false);
  poller.watch_stream(b.near.get(), 22, true, false);
  poller.mute_streams(true);
  ASSERT_EQ(::write(b.far.get(), "x", 1), 1);
  poller.ready_streams(keys);
  EXPECT_EQ(keys, std::vector<std::uint64_t>{22});
}

TEST(Poller, ReturnsEmptyWhenTheLimitPasses) {
  Pair pair;
  Poller poller;
  poller.watch(pair.near.get(), 1, true, false);
  const SteadyClock clock;
  const Time start = clock.now();
  EXPECT_TRUE(poller.wait(20ms).empty());
  EXPECT_GE(clock.now() - start, 19ms);
  EXPECT_TRUE(poller.wait(0ns).empty());
}

// Kernels before 5.11 do not know the call; sandboxes older than it refuse it.
TEST(Poller, WaitsInMillisecondsWhereTheKernelHasNothingFiner) {
  for (const int error : {ENOSYS, EPERM}) {
    const Denied answer = run_denied({SYS_epoll_pwait2, error}, [] {
      Pair pair;
      Poller poller;
      poller.watch(pair.near.get(), 7, true, false);
      const SteadyClock clock;
      const Time start = clock.now();
      bool good =
          poller.wait(0ns).empty() && poller.wait(1ns).empty() && poller.wait(1500us).empty();
      good &= clock.now() - start >= 2ms;
      good &= ::write(pair.far.get(), "x", 1) == 1;
      for (const Nanos limit : {Nanos(-1), Nanos(0), Nanos(Nanos::max())}) {
        const auto ready = poller.wait(limit);
        good &= ready.size() == 1 && ready[0].key == 7;
      }
      return good;
    });
    if (answer == Denied::untestable) GTEST_SKIP() << "no system call filters here";
    EXPECT_EQ(answer, Denied::held) << error;
  }
}

TEST(Poller, StaysReadyUntilTheBytesAreRead) {
  Pair pair;
  Poller poller;
  poller.watch(pair.near.get(), 1, true, false);
  ASSERT_EQ(::write(pair.far.get(), "x", 1), 1);
  EXPECT_EQ(poller.wait(5s).size(), 1u);
  EXPECT_EQ(poller.wait(5s).size(), 1u);
  char c;
  ASSERT_EQ(::read(pair.near.get(), &c, 1), 1);
  EXPECT_TRUE(poller.wait(0ns).empty());
}

TEST(Poller, ReportsHangUpOfThePeer) {
  Pair pair;
  Poller poller;
  poller.watch(pair.near.get(), 1, true, false);
  pair.far.reset();
  const auto ready = poller.wait(5s);
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_TRUE(ready[0].hung_up);
}

TEST(Poller, WatchesForRoomOnlyWhenAsked) {
  Pair pair;
  Poller poller;
  poller.watch_stream(pair.near.get(), 1, true, false);
  EXPECT_TRUE(poller.wait(0ns).empty());
  poller.change_stream(pair.near.get(), 2, false, true);
  const auto ready = poller.wait(5s);
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_EQ(ready[0].key, 2u);
  EXPECT_TRUE(ready[0].writable);
}

TEST(Poller, MutedStreamsWakeNobodyAndTheirNewsIsNotLost) {
  Pair stream, other;
  Poller poller;
  poller.watch_stream(stream.near.get(), 1, true, false);
  poller.watch(other.near.get(), 2, true, false);
  poller.mute_streams(true);
  ASSERT_EQ(::write(stream.far.get(), "x", 1), 1);
  EXPECT_TRUE(poller.wait(0ns).empty());
  ASSERT_EQ(::write(other.far.get(), "x", 1), 1);
  auto ready = poller.wait(5s);
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_EQ(ready[0].key, 2u);
  poller.mute_streams(false);
  ready = poller.wait(5s);
  ASSERT_EQ(ready.size(), 2u);
  poller.forget_stream(stream.near.get());
  EXPECT_EQ(poller.wait(5s).size(), 1u);
}

TEST(Poller, ASleeperWakesWhenMutedStreamsWithNewsAreWatchedAgain) {
  Pair stream;
  Poller poller;
  poller.watch_stream(stream.near.get(), 1, true, false);
  poller.mute_streams(true);
  ASSERT_EQ(::write(stream.far.get(), "x", 1), 1);
  std::thread sleeper([&] { EXPECT_EQ(poller.wait(60s).size(), 1u); });
  poller.mute_streams(false);
  sleeper.join();
}

TEST(Poller, ForgetsDescriptors) {
  Pair pair;
  Poller poller;
  poller.watch(pair.near.get(), 1, true, true);
  poller.forget(pair.near.get());
  poller.forget(pair.near.get());
  EXPECT_TRUE(poller.wait(0ns).empty());
}

TEST(Poller, HandsOutMoreReadyDescriptorsThanOneCallHolds) {
  Poller poller;
  std::vector<Doorbell> bells(100);
  for (std::size_t i = 0; i < bells.size(); ++i) {
    poller.watch(bells[i].fd(), i, true, false);
    bells[i].ringer().ring_always();
  }
  std::size_t seen = 0;
  while (seen < bells.size()) {
    const auto ready = poller.wait(5s);
    ASSERT_FALSE(ready.empty());
    for (const auto& event : ready) bells[event.key].drain();
    seen += ready.size();
  }
  EXPECT_TRUE(poller.wait(0ns).empty());
}

TEST(Poller, AnAlarmWakesOnceAndTheEarliestCounts) {
  AlarmClock clock;
  Poller poller;
  poller.watch_timer(clock.fd(), 33);
  clock.wake_at(clock.now() + std::chrono::hours(1));
  clock.wake_at(clock.now() + 1ms);
  clock.wake_at(clock.now() + std::chrono::hours(2));
  const auto ready = poller.wait(60s);
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_EQ(ready[0].key, 33u);
  EXPECT_TRUE(poller.wait(Nanos(0)).empty());
  clock.wake_at(clock.now() + 1ms);
  EXPECT_EQ(poller.wait(60s).size(), 1u);
}

}  // namespace
}  // namespace unisono
