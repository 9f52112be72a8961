// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The cores of one host and the threads that take turns on them, first come, first served. A thread
// keeps its core until it sleeps, yields or has used up its slice while others wait.
// Threads are numbered by the owner. Thread: the simulation's.
#pragma once

#include <cstdint>
#include <deque>

namespace unisono::sim {

class Cores {
 public:
  Cores(int cores, std::int64_t slice_ns) : free_(cores), slice_ns_(slice_ns) {}

  // The thread wants to run. Returns true when a core was free, false when it has to queue.
  bool take(int thread) {
    if (free_ > 0) {
      --free_;
      return true;
    }
    queue_.push_back(thread);
    return false;
  }
  // Whether a thread that has run since `since` may keep its core; otherwise it calls give_way().
  bool may_go_on(std::int64_t since, std::int64_t now) const {
    return queue_.empty() || now - since < slice_ns_;
  }
  bool anyone_waits() const { return !queue_.empty(); }
  // The thread goes to sleep. Returns the thread that gets its core, or -1.
  int leave() {
    if (queue_.empty()) {
      ++free_;
      return -1;
    }
    const int next = queue_.front();
    queue_.pop_front();
    return next;
  }
  // The thread goes to the end of the queue. Returns who gets its core (itself when it is alone).
  int give_way(int thread) {
    queue_.push_back(thread);
    return leave();
  }

 private:
  int free_;
  const std::int64_t slice_ns_;
  std::deque<int> queue_;
};

}  // namespace unisono::sim
