// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "affinity/bind.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.hpp"
#include "base/data/text.hpp"
#include "model/options/cpu_request.hpp"

namespace unisono::affinity {

std::vector<int> bound_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cpus.push_back(cpu);
  }
  return cpus;
}

Status bind_this_thread(std::span<const int> cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) {
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(cpu), &set);
  }
  if (::sched_setaffinity(0, sizeof set, &set) != 0) {
    return Status(Code::unavailable, cat("this thread could not be bound to CPUs ",
                                         cpu_list_text(cpus), ": ", std::strerror(errno)));
  }
  // The kernel silently leaves out CPUs that are offline or outside the cgroup.
  if (const auto now = bound_cpus(); !std::ranges::equal(now, cpus)) {
    return Status(Code::unavailable,
                  cat("this thread was to be bound to CPUs ", cpu_list_text(cpus), " and got ",
                      cpu_list_text(now), "; the others are offline or not this container's"));
  }
  return {};
}

ScopedBinding::ScopedBinding(std::span<const int> cpus) {
  if (cpus.empty()) return;
  before_ = bound_cpus();
  status_ = bind_this_thread(cpus);
}

ScopedBinding::~ScopedBinding() {
  if (before_.empty()) return;
  if (const Status status = bind_this_thread(before_); !status.ok()) {
    log_line(LogLevel::warn, status.message());
  }
}

}  // namespace unisono::affinity
