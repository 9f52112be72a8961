// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Plain user memory as NumPy would give it: page-aligned, huge pages asked for when large, so that
// no implementation gains by its allocator alone.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

namespace unisono::tools {

class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes) : bytes_(bytes) {
    constexpr std::size_t kHuge = 2 << 20;
    const std::size_t alignment = bytes >= 2 * kHuge ? kHuge : 4096;
    const std::size_t room = (bytes + alignment - 1) / alignment * alignment;
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, room)));
    if (memory_ == nullptr) throw std::bad_alloc();
    // A hint only: a kernel without huge pages loses nothing.
    if (alignment == kHuge) ::madvise(memory_.get(), room, MADV_HUGEPAGE);
  }
  std::span<std::byte> span() const { return {memory_.get(), bytes_}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace unisono::tools
