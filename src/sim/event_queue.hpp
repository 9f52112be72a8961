// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The event queue under virtual time: a heap of small events, ordered by time and then by the order
// in which they were pushed, so that the same pushes give the same pops everywhere.
// Events are 24 bytes of plain data; whatever is larger is kept in a Pool and has a handle.
// Four children per node: half as many levels as a binary heap, and the four of a node lie in at
// most two cache lines. Thread: the owner's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/check.hpp"

namespace unisono::sim {

struct Event {
  std::int64_t at_ns;
  std::uint64_t turn_and_kind;          // turn in the upper 56 bits, kind in the lower 8
  std::uint32_t actor;
  std::uint32_t payload;

  std::uint8_t kind() const { return static_cast<std::uint8_t>(turn_and_kind); }
  friend bool operator<(const Event& a, const Event& b) {
    return a.at_ns != b.at_ns ? a.at_ns < b.at_ns : a.turn_and_kind < b.turn_and_kind;
  }
};
static_assert(sizeof(Event) == 24);

class EventQueue {
 public:
  void push(std::int64_t at_ns, std::uint8_t kind, std::uint32_t actor, std::uint32_t payload) {
    const Event event{at_ns, next_turn_++ << 8 | kind, actor, payload};
    std::size_t hole = heap_.size();
    heap_.push_back(event);
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / kWays;
      if (!(event < heap_[parent])) break;
      heap_[hole] = heap_[parent];
      hole = parent;
    }
    heap_[hole] = event;
  }

  Event pop() {
    UNISONO_CHECK(!heap_.empty());
    const Event first = heap_.front();
    const Event last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sink(last);
    return first;
  }

  // The next event and some of those that may come after it.
  std::span<const Event> soon() const {
    return {heap_.data(), heap_.size() < 1 + kWays ? heap_.size() : 1 + kWays};
  }
  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  std::uint64_t pushed() const { return next_turn_; }

 private:
  static constexpr std::size_t kWays = 4;

  void sink(const Event& event) {
    const std::size_t count = heap_.size();
    std::size_t hole = 0;
    for (;;) {
      const std::size_t child = hole * kWays + 1;
      if (child >= count) break;
      std::size_t least = child;
      const std::size_t end = child + kWays < count ? child + kWays : count;
      for (std::size_t i = child + 1; i < end; ++i) {
        if (heap_[i] < heap_[least]) least = i;
      }
      if (!(heap_[least] < event)) break;
      heap_[hole] = heap_[least];
      hole = least;
    }
    heap_[hole] = event;
  }

  std::vector<Event> heap_;
  std::uint64_t next_turn_ = 0;
};

// Stores values under small handles, which are reused as soon as their value is taken.
template <typename T>
class Pool {
 public:
  std::uint32_t put(T value) {
    if (free_.empty()) {
      items_.push_back(std::move(value));
      return static_cast<std::uint32_t>(items_.size() - 1);
    }
    const std::uint32_t handle = free_.back();
    free_.pop_back();
    items_[handle] = std::move(value);
    return handle;
  }
  T take(std::uint32_t handle) {
    free_.push_back(handle);
    return std::move(items_[handle]);
  }
  const T& at(std::uint32_t handle) const { return items_[handle]; }
  std::size_t in_use() const { return items_.size() - free_.size(); }

 private:
  std::vector<T> items_;
  std::vector<std::uint32_t> free_;
};

}  // namespace unisono::sim
