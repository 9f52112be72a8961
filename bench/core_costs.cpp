// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the simulator's model of shared cores needs to know of a machine (docs/SIMULATOR.md): the cost
// of ringing a sleeping thread, of a switch between threads, of a look and a yield, and how long a busy
// thread keeps its core once another is woken. All on one core; medians, in microseconds.
//
//   bench_core_costs
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double us_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

void stay_on(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

void ring(int fd) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto n = ::write(fd, &one, sizeof one);
}

void sleep_on(int fd) {
  std::uint64_t count;
  [[maybe_unused]] const auto n = ::read(fd, &count, sizeof count);
}

constexpr int kRounds = 3000;

// There and back between two threads of one core: two rings and two switches.
double ping_pong_us() {
  const int there = ::eventfd(0, 0), back = ::eventfd(0, 0);
  std::thread other([&] {
    stay_on(0);
    for (int i = 0; i < kRounds; ++i) sleep_on(there), ring(back);
  });
  stay_on(0);
  std::vector<double> times;
  for (int i = 0; i < kRounds; ++i) {
    const auto begin = Clock::now();
    ring(there);
    sleep_on(back);
    times.push_back(us_since(begin));
  }
  other.join();
  return median(times);
}

// The call alone, for a thread that sleeps on another core.
double ring_us() {
  const int there = ::eventfd(0, 0);
  std::thread other([&] {
    stay_on(1);
    for (int i = 0; i < kRounds; ++i) sleep_on(there);
  });
  stay_on(0);
  std::vector<double> times;
  for (int i = 0; i < kRounds; ++i) {
    const auto until = Clock::now() + std::chrono::microseconds(50);
    while (Clock::now() < until) {
    }
    const auto begin = Clock::now();
    ring(there);
    times.push_back(us_since(begin));
  }
  for (int i = 0; i < kRounds; ++i) ring(there);
  other.join();
  return median(times);
}

// Two threads of one core that yield to each other.
double yield_us() {
  std::atomic<bool> stop{false};
  std::thread other([&] {
    stay_on(0);
    while (!stop) ::sched_yield();
  });
  stay_on(0);
  std::vector<double> times;
  for (int i = 0; i < kRounds; ++i) {
    const auto begin = Clock::now();
    ::sched_yield();
    times.push_back(us_since(begin));
  }
  stop = true;
  other.join();
  return median(times);
}

// From ringing a thread to its first instruction, on a core that another thread keeps busy and that
// the ringing thread does not use.
double busy_wake_us() {
  const int there = ::eventfd(0, 0);
  std::atomic<bool> stop{false};
  std::atomic<std::int64_t> woken{0};
  std::thread busy([&] {
    stay_on(1);
    while (!stop) {
    }
  });
  std::thread sleeper([&] {
    stay_on(1);
    while (!stop) {
      sleep_on(there);
      woken = Clock::now().time_since_epoch().count();
    }
  });
  stay_on(0);
  std::vector<double> times;
  for (int i = 0; i < 300; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    woken = 0;
    const auto begin = Clock::now();
    ring(there);
    while (woken == 0) ::sched_yield();
    times.push_back(static_cast<double>(woken - begin.time_since_epoch().count()) * 1e-3);
  }
  stop = true;
  ring(there);
  busy.join();
  sleeper.join();
  return median(times);
}

}  // namespace

int main() {
  const double pair = ping_pong_us(), call = ring_us(), yield = yield_us(), wait = busy_wake_us();
  std::printf(
      "{\"ring_us\": %.2f, \"ping_pong_us\": %.2f, \"yield_us\": %.2f, \"busy_wake_us\": %.1f}\n",
      call, pair, yield, wait);
  return 0;
}
