// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The cores of one host and the threads that take turns on them: first come first served, a thread
// keeps its core until it sleeps, yields or has used up its slice while others wait.
// Threads are numbered by the owner. Thread: the simulation's.
#pragma once

#include <cstdint>
#include <deque>

namespace unisono::sim {

class Cores {
 public:
  Cores(int cores, std::int64_t slice_ns) : free_(cores), slice_ns_(slice_ns) {}

  // The thread wants to run: true when a core was free, false when it queues.
  bool take(int thread) {
    if (free_ > 0) {
      --free_;
      return true;
    }
    queue_.push_back(thread);
    return false;
  }
  // Whether a thread that has run since `since` may go on; else it calls give_way().
  bool may_go_on(std::int64_t since, std::int64_t now) const {
    return queue_.empty() || now - since < slice_ns_;
  }
  bool anyone_waits() const { return !queue_.empty(); }
  // The thread sleeps: who gets its core, or -1.
  int leave() {
    if (queue_.empty()) {
      ++free_;
      return -1;
    }
    const int next = queue_.front();
    queue_.pop_front();
    return next;
  }
  // The thread goes to the end of the queue: who gets its core (itself when it is alone).
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
