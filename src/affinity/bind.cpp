// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "affinity/bind.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/log.hpp"
#include "base/data/text.hpp"
#include "model/options/cpu_request.hpp"

namespace unisono::affinity {

namespace {

// Of a thread by its id in the kernel; 0 is the calling one. Empty when there is no such thread.
std::vector<int> cpus_of_thread(pid_t thread) {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (::sched_getaffinity(thread, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cpus.push_back(cpu);
  }
  return cpus;
}

Status bind_thread(pid_t thread, std::span<const int> cpus) {
  const std::string which = thread == 0 ? std::string("this thread") : cat("thread ", thread);
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) {
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(cpu), &set);
  }
  if (::sched_setaffinity(thread, sizeof set, &set) != 0) {
    return Status(Code::unavailable, cat(which, " could not be bound to CPUs ",
                                         cpu_list_text(cpus), ": ", std::strerror(errno)));
  }
  // The kernel silently leaves out CPUs that are offline or outside the cgroup.
  if (const auto now = cpus_of_thread(thread); !std::ranges::equal(now, cpus)) {
    return Status(Code::unavailable,
                  cat(which, " was to be bound to CPUs ", cpu_list_text(cpus), " and got ",
                      cpu_list_text(now), "; the others are offline or not this container's"));
  }
  return {};
}

std::vector<pid_t> threads_of_process() {
  std::vector<pid_t> threads;
  std::error_code trouble;
  for (std::filesystem::directory_iterator task("/proc/self/task", trouble), end;
       !trouble && task != end; task.increment(trouble)) {
    threads.push_back(static_cast<pid_t>(std::atoi(task->path().filename().c_str())));
  }
  return threads;
}

}  // namespace

std::vector<int> bound_cpus() { return cpus_of_thread(0); }

Status bind_this_thread(std::span<const int> cpus) { return bind_thread(0, cpus); }

Result<int> bind_process_threads(std::span<const int> cpus,
                                 std::span<const std::vector<int>> spared) {
  // The calling thread first: what it makes from here on inherits the mask.
  if (Status status = bind_this_thread(cpus); !status.ok()) return status;
  // A thread may be made by one that has yet to be bound, so this looks until nobody new is found.
  constexpr int kLooksMax = 16;
  int bound = 0;
  for (int look = 0, changed = 1; changed > 0 && look < kLooksMax; ++look) {
    changed = bound = 0;
    for (const pid_t thread : threads_of_process()) {
      const std::vector<int> mask = cpus_of_thread(thread);
      if (mask.empty() || std::ranges::find(spared, mask) != spared.end()) continue;
      ++bound;
      if (std::ranges::equal(mask, cpus)) continue;
      ++changed;
      if (Status status = bind_thread(thread, cpus); !status.ok()) {
        if (cpus_of_thread(thread).empty()) continue;  // it has ended meanwhile
        return status;
      }
    }
  }
  return bound;
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
