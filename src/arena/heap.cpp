// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "arena/heap.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace unisono::arena {

Heap::Heap(std::size_t begin, std::size_t end) { free_[begin] = end - begin; }

std::optional<std::size_t> Heap::take(std::size_t bytes, std::size_t alignment) {
  bytes = std::max<std::size_t>(bytes, 1);
  std::lock_guard lock(mutex_);
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    const auto [begin, length] = *it;
    const std::size_t start = (begin + alignment - 1) & ~(alignment - 1);
    const std::size_t skipped = start - begin;
    if (length < skipped || length - skipped < bytes) continue;
    free_.erase(it);
    if (skipped > 0) free_[begin] = skipped;
    if (length - skipped > bytes) free_[start + bytes] = length - skipped - bytes;
    taken_[start] = bytes;
    used_ += bytes;
    high_water_ = std::max(high_water_, start + bytes);
    return start;
  }
  return std::nullopt;
}

void Heap::give_back(std::size_t offset) {
  std::lock_guard lock(mutex_);
  const auto taken = taken_.find(offset);
  UNISONO_CHECK(taken != taken_.end());
  std::size_t begin = offset, length = taken->second;
  used_ -= length;
  taken_.erase(taken);
  const auto next = free_.lower_bound(begin);
  if (next != free_.end() && begin + length == next->first) {
    length += next->second;
    free_.erase(next);
  }
  const auto after = free_.lower_bound(begin);
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == begin) {
      before->second += length;
      return;
    }
  }
  free_[begin] = length;
}

std::size_t Heap::used() const {
  std::lock_guard lock(mutex_);
  return used_;
}

std::size_t Heap::high_water() const {
  std::lock_guard lock(mutex_);
  return high_water_;
}

}  // namespace unisono::arena
