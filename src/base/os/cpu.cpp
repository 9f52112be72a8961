// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "base/os/cpu.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace unisono {
namespace {

// cgroup v2 writes "max 100000" or "200000 100000": quota and period in microseconds.
int cgroup_cores() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return 1 << 20;
  return std::max(1, static_cast<int>(std::stod(quota) / period + 0.5));
}

}  // namespace

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int allowed = ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return std::max(1, std::min(allowed, cgroup_cores()));
}

void name_this_thread(const char* name) { ::pthread_setname_np(::pthread_self(), name); }

}  // namespace unisono
