// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The members of one process set that share a host, each with a segment that all of them map.
// Collectives between them are one pass over memory: no messages, only counters on the board.
// Thread: the one that drives the engine. Outlives its machines.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "arena/board.hpp"
#include "arena/neighbourhood.hpp"
#include "move/local/crew.hpp"
#include "unisono/status.hpp"

namespace unisono::move {

class LocalTeam {
 public:
  // Of an operation that passes through slots: one is shown, one reduced, one taken, and one lets
  // members be apart by as much.
  static constexpr std::size_t kSlots = 4;

  // neighbours is by member index, this rank included. slot < kBoardSlots. threads: how many of
  // this rank share the work of one operation.
  LocalTeam(std::vector<arena::Neighbour> neighbours, int me, std::size_t slot, arena::Segment* own,
            arena::Heap* heap, int threads = 1);
  // The same with a slot for each member, on that member's board.
  LocalTeam(std::vector<arena::Neighbour> neighbours, int me, std::vector<std::size_t> slots,
            arena::Segment* own, arena::Heap* heap, int threads = 1);

  // This member looks at nobody's board or window any more; nothing may begin afterwards.
  void close();
  // Whether the member has closed. When all have, what they shared may be given to others.
  bool has_closed(int member) const;
  // Call it only when all have closed.
  void give_windows_back();

  int n() const { return static_cast<int>(neighbours_.size()); }
  int me() const { return me_; }
  std::uint64_t begin_operation() { return ++operation_; }

  arena::BoardSlot& board(int member) const;
  arena::BoardSlot& my_board() const { return board(me_); }
  // Publishes a counter of this rank and wakes the members that sleep.
  void publish(std::atomic<arena::Mark>& counter, arena::Mark value) const;
  // Whether every other member has reached the mark.
  bool all_in(arena::Mark value) const;
  bool all_out(arena::Mark value) const;
  bool all_taken(arena::Mark value) const;
  bool all_done(arena::Mark value) const;

  // The memory at the offset that a member has published for an operation: what it shows.
  std::byte* window_of(int member, std::uint64_t operation, std::size_t bytes) const;
  // The slots that a member has published for an operation.
  struct Slots {
    std::byte* at;
    std::size_t count;
  };
  Slots slots_of(int member, std::uint64_t operation, std::size_t slot_bytes) const;
  // How many slots the next window of slots should have; others may have more or fewer.
  std::size_t slots() const { return slots_each_; }
  void halve_slots() { slots_each_ /= 2; }
  const arena::Segment& own() const { return *own_; }
  Crew& crew() { return crew_; }

  // The largest window every member is sure to have; the same answer on all of them.
  std::size_t window_max() const;
  // Takes a window of this rank for one operation; it is reused once every member is done with it.
  // An operation starts only when all are done with the one two before, so two windows are enough
  // for it to show its data while others still read the last one's.
  // nullopt inside an ok Result: one will be free soon, ask again when has_window().
  Result<std::optional<std::size_t>> take_window(std::size_t bytes);
  // Whether take_window() would return a window or fail, rather than return nullopt. Becomes true
  // when a member publishes that it is done, which rings whoever sleeps.
  bool has_window(std::size_t bytes) const;
  void retire_window(std::size_t offset, std::uint64_t operation);
  std::size_t windows() const { return windows_.size(); }

 private:
  struct Window {
    std::size_t offset, bytes;
    std::uint64_t busy_until;               // operation all members must be done with; 0 = free
    bool taken;
  };
  bool is_free(const Window& window) const;
  // Whether one more window may be made although one that is large enough will be free soon.
  bool may_add(std::size_t bytes) const;
  Result<std::size_t> add_window(std::size_t bytes);
  std::vector<arena::Neighbour> neighbours_;
  int me_;
  std::vector<std::size_t> slots_;          // by member
  std::vector<std::uint64_t> leases_;       // of those slots when this team was made
  arena::Segment* own_;
  arena::Heap* heap_;
  std::uint64_t operation_ = 0;
  std::vector<Window> windows_;
  bool short_of_memory_ = false;            // the last attempt to add one failed
  std::size_t slots_each_ = kSlots;
  Crew crew_;
};

}  // namespace unisono::move
