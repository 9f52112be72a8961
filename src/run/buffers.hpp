// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Buffers for buckets, kept for the next one of their size. Thread: the engine's driver.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <vector>

namespace unisono::run {

class BufferPool {
 public:
  static constexpr std::size_t kAlignment = 4096;

  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  struct Buffer {
    std::unique_ptr<std::byte, Free> memory;
    std::size_t capacity = 0;
    std::span<std::byte> first(std::size_t bytes) const { return {memory.get(), bytes}; }
  };

  // Returns an empty Buffer when memory is short. Contents are whatever was there before.
  Buffer take(std::size_t bytes) {
    for (std::size_t i = 0; i < free_.size(); ++i) {
      if (free_[i].capacity < bytes || free_[i].capacity > 4 * bytes + kAlignment) continue;
      Buffer found = std::move(free_[i]);
      free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
      return found;
    }
    const std::size_t capacity = (bytes / kAlignment + 1) * kAlignment;
    auto* memory = static_cast<std::byte*>(std::aligned_alloc(kAlignment, capacity));
    return {std::unique_ptr<std::byte, Free>(memory), memory ? capacity : 0};
  }
  void give_back(Buffer buffer) {
    if (buffer.memory == nullptr) return;
    free_.push_back(std::move(buffer));
    if (free_.size() > kKept) free_.erase(free_.begin());
  }

 private:
  static constexpr std::size_t kKept = 4;
  std::vector<Buffer> free_;
};

}  // namespace unisono::run
