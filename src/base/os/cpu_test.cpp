// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "base/os/cpu.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <thread>

namespace unisono {
namespace {

TEST(Cpu, UsableCoresIsAtLeastOneAndNoMoreThanTheMachineHas) {
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), static_cast<int>(std::thread::hardware_concurrency()));
}

TEST(Cpu, UsableCoresObeysTheAffinityOfTheThread) {
  int cores = 0;
  std::thread([&] {
    cpu_set_t all, one;
    ::sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&one);
    int first = 0;
    while (!CPU_ISSET(first, &all)) ++first;
    CPU_SET(first, &one);
    ::sched_setaffinity(0, sizeof one, &one);
    cores = usable_cores();
  }).join();
  EXPECT_EQ(cores, 1);
}

TEST(Cpu, NamesTheThread) {
  std::thread([] {
    name_this_thread("unisono-engine");
    char name[16];
    ::pthread_getname_np(::pthread_self(), name, sizeof name);
    EXPECT_STREQ(name, "unisono-engine");
    cpu_relax();
  }).join();
}

}  // namespace
}  // namespace unisono
