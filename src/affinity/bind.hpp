// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Which CPUs the calling thread may run on. Threads made by a thread inherit its mask.
#pragma once

#include <span>
#include <vector>

#include "unisono/status.hpp"

namespace unisono::affinity {

// Ascending; empty when the kernel does not tell.
std::vector<int> bound_cpus();
// Ok only when the kernel, asked afterwards, names exactly these CPUs.
Status bind_this_thread(std::span<const int> cpus);

// Binds the calling thread for a scope, in which the threads are made that shall inherit the mask.
// No CPUs: does nothing.
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
