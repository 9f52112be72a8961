// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Which slots of this rank's board are in use. A slot belongs to one team at a time. A team that
// takes one finds its counters at zero, and nobody else reads it: all members of the previous team
// have closed.
// Thread: the engine's driver.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "arena/board.hpp"
#include "arena/segment.hpp"

namespace unisono::arena {

class BoardSlots {
 public:
  // Slots below `reserved` are never handed out.
  explicit BoardSlots(std::size_t reserved) {
    for (std::size_t i = 0; i < reserved && i < kBoardSlots; ++i) taken_.set(i);
  }
  std::size_t free() const { return kBoardSlots - taken_.count(); }
  // Takes `count` slots of the owner's board, their counters at zero; none when fewer are free.
  std::vector<std::size_t> take(std::size_t count, Segment& own) {
    std::vector<std::size_t> slots;
    if (free() < count) return slots;
    slots.reserve(count);
    for (std::size_t i = 0; i < kBoardSlots && slots.size() < count; ++i) {
      if (taken_.test(i)) continue;
      taken_.set(i);
      clear(reinterpret_cast<BoardSlot*>(own.base())[i]);
      slots.push_back(i);
    }
    return slots;
  }
  void give_back(const std::vector<std::size_t>& slots) {
    for (const std::size_t slot : slots) taken_.reset(slot);
  }

 private:
  static void clear(BoardSlot& slot) {
    // This comes first: a member that has not yet seen that the previous team closed here sees it
    // by the new lease.
    slot.counters.lease.fetch_add(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    for (BoardLine& line : slot.line) {
      line.in.store(0, std::memory_order_relaxed);
      line.window.store(0, std::memory_order_relaxed);
      line.terms.store(0, std::memory_order_relaxed);
    }
    slot.counters.out.store(0, std::memory_order_relaxed);
    slot.counters.taken.store(0, std::memory_order_relaxed);
    slot.counters.done.store(0, std::memory_order_relaxed);
    // Must come before the message that tells the others which slots to read.
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }

  std::bitset<kBoardSlots> taken_;
};

// Holds some slots as long as this object lives.
class SlotLease {
 public:
  SlotLease() = default;
  SlotLease(BoardSlots& board_slots, std::size_t count, Segment& own)
      : board_(&board_slots), slots_(board_slots.take(count, own)) {}
  SlotLease(SlotLease&& other) noexcept
      : board_(std::exchange(other.board_, nullptr)), slots_(std::exchange(other.slots_, {})) {}
  SlotLease& operator=(SlotLease&& other) noexcept {
    std::swap(board_, other.board_);
    std::swap(slots_, other.slots_);
    return *this;
  }
  ~SlotLease() {
    if (board_ != nullptr) board_->give_back(slots_);
  }

  // One byte per slot, counted from 1, as requests carry them; 0 = none.
  static constexpr std::size_t kMax = 8;
  std::uint64_t packed() const {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < slots_.size(); ++i) bytes |= (slots_[i] + 1) << (8 * i);
    return bytes;
  }

 private:
  BoardSlots* board_ = nullptr;
  std::vector<std::size_t> slots_;
};

// Returns the index-th slot of a member's packed lease, or kBoardSlots when there is none.
inline std::size_t slot_in(std::uint64_t packed, std::size_t index) {
  const std::size_t number = packed >> (8 * index) & 0xFF;
  return number == 0 || number > kBoardSlots ? kBoardSlots : number - 1;
}

}  // namespace unisono::arena
