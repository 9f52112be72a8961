// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The descriptors an engine sleeps on (epoll). Thread: any; the kernel keeps the set.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/clock.hpp"
#include "base/os/fd.hpp"

namespace unisono {

class Poller {
 public:
  struct Ready {
    std::uint64_t key;
    bool readable, writable, hung_up;
  };

  Poller();
  // Level-triggered. The key comes back with each event; keys need not be unique.
  void watch(int fd, std::uint64_t key, bool read, bool write);
  void change(int fd, std::uint64_t key, bool read, bool write);
  void forget(int fd);
  // Sleeps until something is ready or the limit passes (negative: no limit). A signal may end it
  // early, with nothing ready. Kernels before 5.11 count in milliseconds; the limit is rounded up.
  std::vector<Ready> wait(Nanos limit);

 private:
  Fd epoll_;
  std::atomic<bool> coarse_{false};  // the kernel has no wait that counts in nanoseconds
};

}  // namespace unisono
