// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The descriptors an engine sleeps on (epoll). Thread: any; the kernel keeps the sets.
// Streams, which have news all the time, are a set of their own that is part of the other: while
// somebody reads them anyway, they can be muted together, so that their news wakes nobody.
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
  void forget(int fd);
  // An event for each time that a timer expires, whether or not anybody reads the timer.
  void watch_timer(int fd, std::uint64_t key);
  void watch_stream(int fd, std::uint64_t key, bool read, bool write);
  void change_stream(int fd, std::uint64_t key, bool read, bool write);
  void forget_stream(int fd);
  // Adds the keys of streams that have news, muted or not, a limited number of them, to `keys`.
  void ready_streams(std::vector<std::uint64_t>& keys);
  // Thread: one at a time.
  void mute_streams(bool muted);
  bool muted() const { return muted_; }
  // Sleeps until something is ready or the limit passes (negative: no limit). A signal may end it
  // early, with nothing ready. Kernels before 5.11 count in milliseconds; the limit is rounded up.
  std::vector<Ready> wait(Nanos limit);

 private:
  void collect(const Fd& epoll, Nanos limit, std::vector<Ready>& ready);

  Fd epoll_, streams_;
  std::atomic<int> stream_count_{0};
  bool muted_ = false;
  std::atomic<bool> coarse_{false};  // the kernel has no wait that counts in nanoseconds
};

}  // namespace unisono
