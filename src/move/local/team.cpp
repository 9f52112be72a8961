// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "move/local/team.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/data/text.hpp"

namespace unisono::move {
namespace {

// Large windows may be huge pages.
constexpr std::size_t kHugePage = 2 << 20, kWindowAlignment = 4 << 10;
// In larger operations, what two gain from not waiting for each other's end does not matter.
constexpr std::size_t kSecondWindowMax = 64 << 20;
// The mark of a member that is done with every operation there could be.
constexpr arena::Mark kClosed = UINT64_MAX;

template <typename Read>
bool everyone(const LocalTeam& team, arena::Mark value, Read read) {
  for (int member = 0; member < team.n(); ++member) {
    if (member == team.me()) continue;
    if (read(team.board(member)).load(std::memory_order_acquire) < value) return false;
  }
  return true;
}

std::byte* inside(const arena::Neighbour& neighbour, std::size_t begin, std::size_t bytes) {
  UNISONO_CHECK(begin <= neighbour.bytes && bytes <= neighbour.bytes - begin);
  return neighbour.base + begin;
}

}  // namespace

LocalTeam::LocalTeam(std::vector<arena::Neighbour> neighbours, int me, std::size_t slot,
                     arena::Segment* own, arena::Heap* heap, int threads)
    : LocalTeam(neighbours, me, std::vector(neighbours.size(), slot), own, heap, threads) {}

LocalTeam::LocalTeam(std::vector<arena::Neighbour> neighbours, int me,
                     std::vector<std::size_t> slots, arena::Segment* own, arena::Heap* heap,
                     int threads)
    : neighbours_(std::move(neighbours)),
      me_(me),
      slots_(std::move(slots)),
      own_(own),
      heap_(heap),
      crew_(threads) {
  UNISONO_CHECK(slots_.size() == neighbours_.size());
  for (const std::size_t slot : slots_) UNISONO_CHECK(slot < arena::kBoardSlots);
  for (int member = 0; member < n(); ++member) {
    leases_.push_back(board(member).counters.lease.load(std::memory_order_relaxed));
  }
}

void LocalTeam::close() { publish(my_board().counters.done, kClosed); }

bool LocalTeam::has_closed(int member) const {
  // A member that has seen everybody close may have given its slot to another team by now.
  const arena::BoardCounters& counters = board(member).counters;
  return counters.done.load(std::memory_order_acquire) == kClosed ||
         counters.lease.load(std::memory_order_relaxed) !=
             leases_[static_cast<std::size_t>(member)];
}

void LocalTeam::give_windows_back() {
  for (const Window& window : windows_) {
    own_->discard(window.offset, window.bytes);
    heap_->give_back(window.offset);
  }
  windows_.clear();
}

arena::BoardSlot& LocalTeam::board(int member) const {
  const arena::Neighbour& neighbour = neighbours_[static_cast<std::size_t>(member)];
  return reinterpret_cast<arena::BoardSlot*>(
      neighbour.base)[slots_[static_cast<std::size_t>(member)]];
}

void LocalTeam::publish(std::atomic<arena::Mark>& counter, arena::Mark value) const {
  counter.store(value, std::memory_order_release);
  // One fence serves all bells; each ring is then a load unless somebody sleeps.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (int member = 0; member < n(); ++member) {
    const Ringer& bell = neighbours_[static_cast<std::size_t>(member)].bell;
    if (member != me_ && bell.wants(kRingForProgress)) bell.ring_always();
  }
}

bool LocalTeam::all_in(arena::Mark value) const {
  // Operations alternate between two lines, so a line's mark never skips over a reader.
  const std::size_t parity = (value >> arena::kProgressBits) & 1;
  return everyone(
      *this, value, [&](arena::BoardSlot & slot) -> auto& { return slot.line[parity].in; });
}

bool LocalTeam::all_out(arena::Mark value) const {
  return everyone(*this, value, [](arena::BoardSlot& slot) -> auto& { return slot.counters.out; });
}

bool LocalTeam::all_taken(arena::Mark value) const {
  return everyone(*this, value,
                  [](arena::BoardSlot & slot) -> auto& { return slot.counters.taken; });
}

bool LocalTeam::all_done(arena::Mark value) const {
  return everyone(*this, value, [](arena::BoardSlot& slot) -> auto& { return slot.counters.done; });
}

std::byte* LocalTeam::window_of(int member, std::uint64_t operation, std::size_t bytes) const {
  return inside(neighbours_[static_cast<std::size_t>(member)],
                board(member).line[operation & 1].window.load(std::memory_order_relaxed), bytes);
}

LocalTeam::Slots LocalTeam::slots_of(int member, std::uint64_t operation,
                                     std::size_t slot_bytes) const {
  const std::uint64_t shown =
      board(member).line[operation & 1].result.load(std::memory_order_relaxed);
  const std::size_t count = shown % kWindowAlignment;
  UNISONO_CHECK(count > 0 && count <= kSlots);
  return {inside(neighbours_[static_cast<std::size_t>(member)], shown - count, count * slot_bytes),
          count};
}

std::size_t LocalTeam::window_max() const {
  std::size_t least = SIZE_MAX;
  for (const arena::Neighbour& neighbour : neighbours_) {
    least = std::min(least, neighbour.heap_end);
  }
  return (least - arena::kBoardBytes) / 2;
}

bool LocalTeam::is_free(const Window& window) const {
  return !window.taken && all_done(arena::mark(window.busy_until, 0));
}

bool LocalTeam::may_add(std::size_t bytes) const {
  const auto large_enough = std::count_if(windows_.begin(), windows_.end(),
                                          [&](const Window& w) { return w.bytes >= bytes; });
  return large_enough < 2 && bytes <= kSecondWindowMax && !short_of_memory_;
}

bool LocalTeam::has_window(std::size_t bytes) const {
  bool soon = false;
  for (const Window& window : windows_) {
    if (window.bytes < bytes) continue;
    if (is_free(window)) return true;
    soon = true;
  }
  return !soon || may_add(bytes);
}

Result<std::optional<std::size_t>> LocalTeam::take_window(std::size_t bytes) {
  Window* found = nullptr;
  bool soon = false;
  for (Window& window : windows_) {
    if (window.bytes < bytes) continue;
    if (!is_free(window)) {
      soon = true;
    } else if (found == nullptr || window.busy_until > found->busy_until) {
      found = &window;                      // the last used one is still in the cache
    }
  }
  if (found != nullptr) {
    short_of_memory_ = false;
    found->taken = true;
    return std::optional(found->offset);
  }
  if (soon && !may_add(bytes)) return std::optional<std::size_t>();
  auto added = add_window(bytes);
  if (added) return std::optional(*added);
  if (!soon) return added.status();
  short_of_memory_ = true;
  return std::optional<std::size_t>();
}

Result<std::size_t> LocalTeam::add_window(std::size_t bytes) {
  // Windows that have become too small are given back when nobody reads them any more.
  std::erase_if(windows_, [&](const Window& window) {
    if (window.bytes >= bytes || !is_free(window)) return false;
    own_->discard(window.offset, window.bytes);
    heap_->give_back(window.offset);
    return true;
  });
  const auto offset = heap_->take(bytes, bytes < kHugePage ? kWindowAlignment : kHugePage);
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
  return *offset;
}

void LocalTeam::retire_window(std::size_t offset, std::uint64_t operation) {
  for (Window& window : windows_) {
    if (window.offset != offset) continue;
    window.taken = false;
    window.busy_until = operation;
  }
}

}  // namespace unisono::move
