// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "move/local/team.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/text.hpp"

namespace unisono {
namespace {

constexpr std::size_t kWindowAlignment = 2 << 20;

template <typename Read>
bool everyone(const LocalTeam& team, Mark value, Read read) {
  for (int member = 0; member < team.n(); ++member) {
    if (member == team.me()) continue;
    if (read(team.board(member)).load(std::memory_order_acquire) < value) return false;
  }
  return true;
}

}  // namespace

LocalTeam::LocalTeam(std::vector<Neighbour> neighbours, int me, std::size_t slot, Segment* own,
                     Heap* heap, int threads)
    : neighbours_(std::move(neighbours)), me_(me), slot_(slot), own_(own), heap_(heap),
      crew_(threads) {
  UNISONO_CHECK(slot < kBoardSlots);
}

BoardSlot& LocalTeam::board(int member) const {
  const Neighbour& neighbour = neighbours_[static_cast<std::size_t>(member)];
  return reinterpret_cast<BoardSlot*>(neighbour.base)[slot_];
}

void LocalTeam::publish(std::atomic<Mark>& counter, Mark value) const {
  counter.store(value, std::memory_order_release);
  // One fence for all bells; each ring is then a load unless somebody sleeps.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (int member = 0; member < n(); ++member) {
    const Ringer& bell = neighbours_[static_cast<std::size_t>(member)].bell;
    if (member != me_ && bell.wants(kRingForProgress)) bell.ring_always();
  }
}

bool LocalTeam::all_in(Mark value) const {
  // Operations alternate between two lines, so a line's mark never skips over a reader.
  const std::size_t parity = (value >> kProgressBits) & 1;
  return everyone(*this, value, [&](BoardSlot& slot) -> auto& { return slot.line[parity].in; });
}

bool LocalTeam::all_out(Mark value) const {
  return everyone(*this, value, [](BoardSlot& slot) -> auto& { return slot.counters.out; });
}

bool LocalTeam::all_done(Mark value) const {
  return everyone(*this, value, [](BoardSlot& slot) -> auto& { return slot.counters.done; });
}

std::byte* LocalTeam::window_of(int member, std::uint64_t operation, std::size_t bytes) const {
  const Neighbour& neighbour = neighbours_[static_cast<std::size_t>(member)];
  const BoardLine& line = board(member).line[operation & 1];
  const std::size_t offset = line.window.load(std::memory_order_relaxed);
  UNISONO_CHECK(offset <= neighbour.bytes && bytes <= neighbour.bytes - offset);
  return neighbour.base + offset;
}

std::size_t LocalTeam::window_most() const {
  std::size_t least = SIZE_MAX;
  for (const Neighbour& neighbour : neighbours_) least = std::min(least, neighbour.bytes);
  return (least - kBoardBytes) / 2;
}

Result<std::optional<std::size_t>> LocalTeam::take_window(std::size_t bytes) {
  bool wait = false;
  for (Window& window : windows_) {
    if (window.bytes < bytes) continue;
    if (window.taken || !all_done(mark(window.busy_until, 0))) {
      wait = true;
      continue;
    }
    window.taken = true;
    return std::optional(window.offset);
  }
  if (wait) return std::optional<std::size_t>();
  // Larger than any before: the smaller ones are given back when nobody reads them any more.
  for (auto it = windows_.begin(); it != windows_.end();) {
    if (it->taken || !all_done(mark(it->busy_until, 0))) {
      ++it;
      continue;
    }
    own_->discard(it->offset, it->bytes);
    heap_->give_back(it->offset);
    it = windows_.erase(it);
  }
  const auto offset = heap_->take(bytes, kWindowAlignment);
  if (!offset) {
    return Status(Code::out_of_memory,
                  cat("the arena has no room for a window of ", bytes,
                      " bytes; raise arena_bytes or lower fusion_bytes"));
  }
  if (Status status = own_->commit(*offset, bytes); !status) {
    heap_->give_back(*offset);
    return status;
  }
  windows_.push_back({*offset, bytes, 0, true});
  return std::optional(*offset);
}

void LocalTeam::retire_window(std::size_t offset, std::uint64_t operation) {
  for (Window& window : windows_) {
    if (window.offset != offset) continue;
    window.taken = false;
    window.busy_until = operation;
  }
}

}  // namespace unisono
