// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The members of one process set that share a host, each with a segment all of them map. Collectives
// between them are one pass over memory: no messages, only counters on the board.
// Thread: the one that drives the engine. Outlives its machines.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "arena/board.hpp"
#include "arena/neighbourhood.hpp"
#include "move/local/crew.hpp"
#include "unisono/status.hpp"

namespace unisono {

class LocalTeam {
 public:
  // neighbours is by member index, this rank included. slot < kBoardSlots. threads: of this rank
  // that share the work of one operation.
  LocalTeam(std::vector<Neighbour> neighbours, int me, std::size_t slot, Segment* own, Heap* heap,
            int threads = 1);

  int n() const { return static_cast<int>(neighbours_.size()); }
  int me() const { return me_; }
  std::uint64_t begin_operation() { return ++operation_; }

  BoardSlot& board(int member) const;
  BoardSlot& my_board() const { return board(me_); }
  // Publishes a counter of this rank and wakes the members that sleep.
  void publish(std::atomic<Mark>& counter, Mark value) const;
  // Whether every other member has reached the mark.
  bool all_in(Mark value) const;
  bool all_out(Mark value) const;
  bool all_done(Mark value) const;

  // Memory at the window offset a member has published for an operation.
  std::byte* window_of(int member, std::uint64_t operation, std::size_t bytes) const;
  const Segment& own() const { return *own_; }
  Crew& crew() { return crew_; }

  // The largest window every member is sure to have; the same answer on all of them.
  std::size_t window_most() const;
  // A window of this rank for one operation: reused once every member is done with it.
  // nullopt inside an ok Result: one will be free soon, ask again.
  Result<std::optional<std::size_t>> take_window(std::size_t bytes);
  void retire_window(std::size_t offset, std::uint64_t operation);

 private:
  struct Window {
    std::size_t offset, bytes;
    std::uint64_t busy_until;               // operation all members must be done with; 0 = free
    bool taken;
  };
  std::vector<Neighbour> neighbours_;
  int me_;
  std::size_t slot_;
  Segment* own_;
  Heap* heap_;
  std::uint64_t operation_ = 0;
  std::vector<Window> windows_;
  Crew crew_;
};

}  // namespace unisono
