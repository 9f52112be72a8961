// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Many threads push, one takes everything at once. Pushing rings the owner's doorbell.
#pragma once

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "base/doorbell.hpp"

namespace unisono {

template <typename T>
class Inbox {
 public:
  explicit Inbox(Ringer owner) : owner_(owner) {}

  void push(T item) {
    push_quietly(std::move(item));
    ring();
  }
  // For who may become the owner at once: otherwise ring() must follow.
  void push_quietly(T item) {
    std::lock_guard lock(mutex_);
    items_.push_back(std::move(item));
    count_.store(items_.size(), std::memory_order_release);
  }
  void ring() const { owner_.ring(); }
  bool empty() const { return count_.load(std::memory_order_acquire) == 0; }
  // Appends nothing to `out` when empty; otherwise swaps, so both vectors keep their capacity.
  void take(std::vector<T>& out) {
    out.clear();
    if (empty()) return;
    std::lock_guard lock(mutex_);
    out.swap(items_);
    count_.store(0, std::memory_order_release);
  }

 private:
  Ringer owner_;
  std::mutex mutex_;
  std::vector<T> items_;
  std::atomic<std::size_t> count_{0};
};

}  // namespace unisono
