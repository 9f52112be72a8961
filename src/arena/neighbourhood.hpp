// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The ranks of this host as seen by one of them: its own segment, with the heap in it, and the
// segments of the others as mapped here. A rank is a neighbour when its segment can be mapped; host
// names are not compared.
// Thread: built while joining, immutable afterwards except for the heap, which locks.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "arena/heap.hpp"
#include "arena/host_groups.hpp"
#include "arena/segment.hpp"
#include "base/os/doorbell.hpp"
#include "model/members.hpp"
#include "unisono/types.hpp"

namespace unisono::arena {

inline constexpr std::size_t kHostWindowBytes = 4 << 20;

struct Neighbour {
  std::byte* base = nullptr;                // its segment, as mapped here
  std::size_t bytes = 0;
  std::size_t heap_end = 0;                 // windows of host teams come behind it
  Ringer bell;                              // wakes its engine
};

class Neighbourhood {
 public:
  // bytes 0: as much address space as the machine has memory, which costs nothing until touched.
  static Result<std::unique_ptr<Neighbourhood>> create(Rank self, int size, std::size_t bytes,
                                                       Ringer bell);

  Segment& own() { return *own_; }
  Heap& heap() { return *heap_; }
  // Where teams of sets that span hosts have their windows. The tensors of a program and the
  // windows of other teams cannot use it up, and it holds two windows of kHostWindowBytes for every
  // slot of the board: all hosts can count on each other's, however small their arenas are.
  Heap& host_windows() { return *host_windows_; }
  std::shared_ptr<Segment> share_own() const { return own_; }
  // Bytes of the segment that are not set aside for host teams.
  std::size_t capacity() const { return by_rank_[static_cast<std::size_t>(self_)]->heap_end; }

  // keeper keeps the memory of the bell alive.
  void add(Rank rank, std::shared_ptr<Segment> segment, Ringer bell,
           std::shared_ptr<const void> keeper);
  // Which pairs of ranks map each other; every rank has the same table.
  void settle(std::vector<std::vector<bool>> shares) { shares_ = std::move(shares); }

  // Whether every member maps every other; all members get the same answer.
  bool covers(const Members& members) const;
  std::vector<Neighbour> neighbours(const Members& members) const;
  // How members on several hosts are grouped; all members get the same answer.
  std::optional<HostGroups> groups(const Members& members) const;

 private:
  Neighbourhood(Rank self, int size, Segment own, Ringer bell);
  Rank self_;
  std::shared_ptr<Segment> own_;
  std::unique_ptr<Heap> heap_, host_windows_;
  std::vector<std::optional<Neighbour>> by_rank_;
  std::vector<std::shared_ptr<const void>> keepers_;
  std::vector<std::vector<bool>> shares_;
};

}  // namespace unisono::arena
