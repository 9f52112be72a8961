// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Many threads push, one takes everything at once. Pushing rings the owner's doorbell.
// Closing returns the items that nobody took; from then on a push is refused, so that no item can
// stay in an inbox that nobody reads any more.
#pragma once

#include <atomic>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/os/doorbell.hpp"

namespace unisono {

template <typename T>
class Inbox {
 public:
  static_assert(std::is_nothrow_move_constructible_v<T>);
  explicit Inbox(Ringer owner) : owner_(owner) {}

  // Returns false when the inbox is closed: the item stays with the caller, as it does when memory
  // is short (bad_alloc).
  [[nodiscard]] bool push(T&& item) {
    if (!push_quietly(std::move(item))) return false;
    ring();
    return true;
  }
  // For a caller that may become the owner at once; if it does not, it must call ring().
  [[nodiscard]] bool push_quietly(T&& item) {
    std::lock_guard lock(mutex_);
    if (closed_) return false;
    items_.push_back(std::move(item));
    count_.store(items_.size(), std::memory_order_release);
    return true;
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
  std::vector<T> close() {
    std::lock_guard lock(mutex_);
    closed_ = true;
    count_.store(0, std::memory_order_release);
    return std::exchange(items_, {});
  }

 private:
  Ringer owner_;
  std::mutex mutex_;
  std::vector<T> items_;
  bool closed_ = false;
  std::atomic<std::size_t> count_{0};
};

}  // namespace unisono
