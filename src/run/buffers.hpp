// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Buffers for buckets, kept for the next one of their size. Some can be had beforehand, with pages
// that exist, so that nothing is allocated while there are enough of them; they are kept for good.
// Thread: the engine's driver.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
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
    bool reserved = false;
    std::span<std::byte> first(std::size_t bytes) const { return {memory.get(), bytes}; }
  };

  // Has that many buffers of that size ready; false when memory is short.
  bool reserve(std::size_t count, std::size_t bytes) {
    for (std::size_t i = 0; i < count && bytes > 0; ++i) {
      Buffer buffer = allocated(bytes);
      if (buffer.memory == nullptr) return false;
      std::memset(buffer.memory.get(), 0, buffer.capacity);
      buffer.reserved = true;
      reserved_bytes_ += buffer.capacity;
      free_.push_back(std::move(buffer));
    }
    return true;
  }
  // Returns an empty Buffer when memory is short. Contents are whatever was there before.
  Buffer take(std::size_t bytes) {
    for (std::size_t i = 0; i < free_.size(); ++i) {
      // A buffer that is much too large stays free for a larger bucket, unless it is there anyway.
      const bool wasteful = !free_[i].reserved && free_[i].capacity > 4 * bytes + kAlignment;
      if (free_[i].capacity < bytes || wasteful) continue;
      Buffer found = std::move(free_[i]);
      free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
      return found;
    }
    ++allocations_;
    return allocated(bytes);
  }
  void give_back(Buffer buffer) {
    if (buffer.memory == nullptr) return;
    const bool reserved = buffer.reserved;
    free_.insert(reserved ? free_.begin() : free_.end(), std::move(buffer));
    std::size_t kept = 0;
    for (const Buffer& each : free_) kept += each.reserved ? 0 : 1;
    if (kept <= kKept) return;
    for (auto each = free_.begin(); each != free_.end(); ++each) {
      if (each->reserved) continue;
      free_.erase(each);
      return;
    }
  }
  // How often take() found nothing that fitted.
  std::size_t allocations() const { return allocations_; }
  std::size_t reserved_bytes() const { return reserved_bytes_; }

 private:
  static constexpr std::size_t kKept = 4;

  static Buffer allocated(std::size_t bytes) {
    const std::size_t capacity = (bytes / kAlignment + 1) * kAlignment;
    auto* memory = static_cast<std::byte*>(std::aligned_alloc(kAlignment, capacity));
    return {std::unique_ptr<std::byte, Free>(memory), memory ? capacity : 0, false};
  }

  std::vector<Buffer> free_;            // reserved ones first
  std::size_t allocations_ = 0, reserved_bytes_ = 0;
};

}  // namespace unisono::run
