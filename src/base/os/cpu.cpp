// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "base/os/cpu.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <string_view>

#include "base/os/text_file.hpp"

namespace unisono {
namespace {

// cgroup v2 writes "max 100000" or "200000 100000": quota and period in microseconds.
int cgroup_cores() {
  constexpr int kNoLimit = 1 << 20;
  const auto text = text_of_file("/sys/fs/cgroup/cpu.max");
  const auto words = words_of(text ? *text : std::string_view());
  if (words.size() < 2) return kNoLimit;
  const auto quota = number_of<double>(words[0]), period = number_of<double>(words[1]);
  if (!quota || !period || *period <= 0) return kNoLimit;
  return std::max(1, static_cast<int>(*quota / *period + 0.5));
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
