// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/shm/ring.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.hpp"

namespace unisono::transport {
namespace {
// The reader frees room in steps of this size, or when the ring is empty. This needs fewer stores
// to a cache line that the writer polls.
constexpr std::uint64_t kReleaseStep = 16 << 10;

std::size_t to_wrap(const RingMemory& memory, std::uint64_t at) {
  return memory.capacity - static_cast<std::size_t>(at & (memory.capacity - 1));
}
std::byte* place(const RingMemory& memory, std::uint64_t at) {
  return memory.bytes + static_cast<std::size_t>(at & (memory.capacity - 1));
}
}  // namespace

RingWriter::RingWriter(RingMemory memory) : memory_(memory) {
  UNISONO_CHECK(std::has_single_bit(memory.capacity));
}

std::size_t RingWriter::stage(std::span<const std::byte> bytes) {
  if (broken_ || bytes.empty()) return 0;
  const std::uint64_t capacity = memory_.capacity;
  if (capacity - (tail_ - head_seen_) < bytes.size()) {
    const std::uint64_t head = memory_.header->head.load(std::memory_order_acquire);
    // The reader's counter may neither decrease nor exceed what was written.
    if (head - head_seen_ > tail_ - head_seen_) {
      broken_ = true;
      return 0;
    }
    head_seen_ = head;
  }
  const auto room = static_cast<std::size_t>(capacity - (tail_ - head_seen_));
  const std::size_t n = std::min(room, bytes.size());
  const std::size_t first = std::min(n, to_wrap(memory_, tail_));
  std::memcpy(place(memory_, tail_), bytes.data(), first);
  if (n > first) std::memcpy(memory_.bytes, bytes.data() + first, n - first);
  tail_ += n;
  return n;
}

bool RingWriter::has_room() const {
  // Sequentially consistent with wait_for_room() here and release() there: one of the two sides
  // sees the other, so no wake-up is lost.
  return broken_ || tail_ - memory_.header->head.load() < memory_.capacity;
}

RingReader::RingReader(RingMemory memory) : memory_(memory) {
  UNISONO_CHECK(std::has_single_bit(memory.capacity));
}

std::size_t RingReader::read(std::span<std::byte> bytes, bool& wake_writer) {
  if (broken_) return 0;
  if (tail_seen_ - head_ < bytes.size()) {
    const std::uint64_t tail = memory_.header->tail.load(std::memory_order_acquire);
    if (tail - head_ > memory_.capacity || tail - head_ < tail_seen_ - head_) {
      broken_ = true;
      return 0;
    }
    tail_seen_ = tail;
  }
  const std::size_t n = std::min(static_cast<std::size_t>(tail_seen_ - head_), bytes.size());
  if (n == 0) return 0;
  const std::size_t first = std::min(n, to_wrap(memory_, head_));
  std::memcpy(bytes.data(), place(memory_, head_), first);
  if (n > first) std::memcpy(bytes.data() + first, memory_.bytes, n - first);
  head_ += n;
  if (head_ == tail_seen_ || head_ - head_released_ >= kReleaseStep) release(wake_writer);
  return n;
}

void RingReader::release(bool& wake_writer) {
  head_released_ = head_;
  memory_.header->head.store(head_);
  if (memory_.header->writer_waiting.load() != 0) wake_writer = true;
}

bool RingReader::has_bytes() const {
  return broken_ || memory_.header->tail.load(std::memory_order_acquire) != head_;
}

}  // namespace unisono::transport
