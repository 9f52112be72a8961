// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Wakes a sleeping engine, from any thread or, when its flag lives in shared memory, any process.
//
// The sleeper arms the bell, looks once more for work, sleeps on the descriptor, then disarms.
// A ringer makes its work visible first and then rings; ringing an unarmed bell is one load.
// The full fences on both sides make one of the two see the other, so no wake-up is lost.
#pragma once

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>

#include "base/os/fd.hpp"
#include "base/os/retry.hpp"

namespace unisono {

using BellFlag = std::atomic<std::uint32_t>;
static_assert(BellFlag::is_always_lock_free);

// What a sleeper wants to be woken for.
inline constexpr std::uint32_t kRingForWork = 1;      // submissions and messages
inline constexpr std::uint32_t kRingForProgress =
    2;  // neighbours' counters: while an operation runs

// The ringing side: a descriptor (not owned) and the flag that says what a sleeper waits for.
struct Ringer {
  int fd = -1;
  BellFlag* armed = nullptr;

  void ring() const {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (wants(kRingForWork)) ring_always();
  }
  // Whether somebody sleeps who waits for this. Call it after a full fence.
  bool wants(std::uint32_t what) const {
    return armed != nullptr && (armed->load(std::memory_order_relaxed) & what) != 0;
  }
  void ring_always() const {
    std::uint64_t one = 1;
    [[maybe_unused]] auto n = ::write(fd, &one, sizeof one);
  }
};

// What a bell is made of: an eventfd, and the flag in a page of shared memory that can be handed to
// other processes. Shared, so that a ringer in this process may outlive the Doorbell.
class BellPage {
 public:
  static constexpr std::size_t kBytes = 4096;

  BellPage()
      : event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
        memory_(::memfd_create("unisono-bell", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    if (memory_.valid() && retried([&] { return ::ftruncate(memory_.get(), kBytes); }) == 0 &&
        ::fcntl(memory_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
      void* at = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0);
      if (at != MAP_FAILED) mapped_ = at;
    }
    if (mapped_ != nullptr) flag_ = new (mapped_) BellFlag(0);
    else memory_.reset();
  }
  BellPage(const BellPage&) = delete;
  BellPage& operator=(const BellPage&) = delete;
  ~BellPage() {
    if (mapped_ != nullptr) ::munmap(mapped_, kBytes);
  }

  int event_fd() const { return event_.get(); }
  int memory_fd() const { return memory_.get(); }  // -1: only this process can ring
  BellFlag* flag() const { return flag_; }

 private:
  Fd event_, memory_;
  void* mapped_ = nullptr;
  BellFlag own_flag_{0};
  BellFlag* flag_ = &own_flag_;
};

class Doorbell {
 public:
  int fd() const { return page_->event_fd(); }
  std::shared_ptr<const BellPage> page() const { return page_; }
  Ringer ringer() const { return {page_->event_fd(), flag_}; }

  void arm(std::uint32_t what = kRingForWork | kRingForProgress) {
    flag_->store(what, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  void disarm() { flag_->store(0, std::memory_order_relaxed); }
  // Consumes rings, so that the descriptor is quiet until the next one.
  void drain() {
    std::uint64_t count;
    [[maybe_unused]] auto n = ::read(fd(), &count, sizeof count);
  }

 private:
  std::shared_ptr<BellPage> page_ = std::make_shared<BellPage>();
  BellFlag* flag_ = page_->flag();
};

}  // namespace unisono
