// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Which CPUs the calling thread, or all threads of this process, may run on. Threads made by a
// thread inherit its mask.
#pragma once

#include <span>
#include <vector>

#include "unisono/status.hpp"

namespace unisono::affinity {

// Returns the CPUs in ascending order; empty when the kernel does not report them.
std::vector<int> bound_cpus();
// Returns ok only when the kernel afterwards reports exactly these CPUs.
Status bind_this_thread(std::span<const int> cpus);

// Binds every thread of this process, also those made meanwhile, but those whose mask is one of
// `spared`. Returns how many have the mask now.
Result<int> bind_process_threads(std::span<const int> cpus,
                                 std::span<const std::vector<int>> spared);

// Binds the calling thread for a scope. Threads that are made in the scope inherit the mask. Does
// nothing when there are no CPUs.
class ScopedBinding {
 public:
  explicit ScopedBinding(std::span<const int> cpus);
  ~ScopedBinding();
  ScopedBinding(const ScopedBinding&) = delete;
  ScopedBinding& operator=(const ScopedBinding&) = delete;
  const Status& status() const { return status_; }

 private:
  std::vector<int> before_;
  Status status_;
};

}  // namespace unisono::affinity
