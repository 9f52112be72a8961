// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Wakes a sleeping engine, from any thread or, when its flag lives in shared memory, any process.
//
// The sleeper arms the bell, looks once more for work, sleeps on the descriptor, then disarms.
// A ringer makes its work visible first and then rings; ringing an unarmed bell is one load.
// The full fences on both sides make one of the two see the other, so no wake-up is lost.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "base/fd.hpp"

namespace unisono {

using BellFlag = std::atomic<std::uint32_t>;
static_assert(BellFlag::is_always_lock_free);

// The ringing side: a descriptor (not owned) and the flag that says whether anyone sleeps.
struct Ringer {
  int fd = -1;
  BellFlag* armed = nullptr;

  void ring() const {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (armed != nullptr && armed->load(std::memory_order_relaxed) != 0) ring_always();
  }
  void ring_always() const {
    std::uint64_t one = 1;
    [[maybe_unused]] auto n = ::write(fd, &one, sizeof one);
  }
};

class Doorbell {
 public:
  Doorbell() : fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

  int fd() const { return fd_.get(); }
  // Moves the flag, e.g. into memory that peers map. Only before anyone rings.
  void place_flag(BellFlag* flag) { flag_ = flag; }
  Ringer ringer() const { return {fd_.get(), flag_}; }

  void arm() {
    flag_->store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  void disarm() { flag_->store(0, std::memory_order_relaxed); }
  // Consumes rings, so that the descriptor is quiet until the next one.
  void drain() {
    std::uint64_t count;
    [[maybe_unused]] auto n = ::read(fd_.get(), &count, sizeof count);
  }

 private:
  Fd fd_;
  BellFlag own_flag_{0};
  BellFlag* flag_ = &own_flag_;
};

}  // namespace unisono
