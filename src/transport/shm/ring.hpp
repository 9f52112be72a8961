// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A byte ring with one writer and one reader over raw memory: the heap, or a mapping that two
// processes share. Counters only grow; each is written by one side and lies in its own line.
//
// Each side trusts its own private counter alone. What the other side publishes is validated before
// use, so a damaged or hostile counter makes the ring broken(), never an access out of bounds.
// Thread: a RingWriter and a RingReader belong to one thread each.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace unisono::transport {

struct RingHeader {
  alignas(128) std::atomic<std::uint64_t> head{0};  // bytes taken out, by the reader
  std::atomic<std::uint32_t> reader_closed{0};
  alignas(128) std::atomic<std::uint64_t> tail{0};  // bytes put in, by the writer
  std::atomic<std::uint32_t> writer_closed{0};
  std::atomic<std::uint32_t> writer_waiting{0};     // ring the writer's bell when room appears
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// Where a ring lies. The capacity is a power of two; the memory outlives writer and reader.
struct RingMemory {
  RingHeader* header = nullptr;
  std::byte* bytes = nullptr;
  std::size_t capacity = 0;
};

class RingWriter {
 public:
  explicit RingWriter(RingMemory memory);
  // Copies what fits; the reader sees it after publish().
  std::size_t stage(std::span<const std::byte> bytes);
  void publish() { memory_.header->tail.store(tail_, std::memory_order_release); }
  bool has_room() const;
  void wait_for_room(bool waiting) { memory_.header->writer_waiting.store(waiting); }
  void close() { memory_.header->writer_closed.store(1, std::memory_order_release); }
  bool reader_closed() const {
    return memory_.header->reader_closed.load(std::memory_order_acquire) != 0;
  }
  bool broken() const { return broken_; }

 private:
  RingMemory memory_;
  std::uint64_t tail_ = 0, head_seen_ = 0;
  bool broken_ = false;
};

class RingReader {
 public:
  explicit RingReader(RingMemory memory);
  // Copies what is there. `wake_writer` is set when the writer waits for the room this made.
  std::size_t read(std::span<std::byte> bytes, bool& wake_writer);
  bool has_bytes() const;
  void close() { memory_.header->reader_closed.store(1, std::memory_order_release); }
  bool writer_closed() const {
    return memory_.header->writer_closed.load(std::memory_order_acquire) != 0;
  }
  bool broken() const { return broken_; }

 private:
  void release(bool& wake_writer);

  RingMemory memory_;
  std::uint64_t head_ = 0, head_released_ = 0, tail_seen_ = 0;
  bool broken_ = false;
};

}  // namespace unisono::transport
