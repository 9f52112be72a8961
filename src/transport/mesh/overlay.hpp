// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Who is connected with whom from the start where not everybody is: ranks that are adjacent in a
// tree over all ranks, along which control messages are routed, or in a ring, so that no single loss
// divides the survivors. Adjacent ranks watch each other's heartbeats; all other pairs connect on
// first use, and only for data. Pure arithmetic.
#pragma once

#include <vector>

#include "unisono/types.hpp"

namespace unisono::transport {

struct Overlay {
  int size = 1;
  int radix = 16;                           // children of an inner node of the tree

  Rank parent(Rank rank) const { return (rank - 1) / radix; }
  bool in_tree(Rank a, Rank b) const {
    return a != b && ((a > 0 && parent(a) == b) || (b > 0 && parent(b) == a));
  }
  bool in_ring(Rank a, Rank b) const {
    return a != b && ((a + 1) % size == b || (b + 1) % size == a);
  }
  bool adjacent(Rank a, Rank b) const { return in_tree(a, b) || in_ring(a, b); }

  std::vector<Rank> adjacent_to(Rank rank) const {
    std::vector<Rank> all = adjacent_in_tree(rank);
    for (const Rank other : {(rank + 1) % size, (rank + size - 1) % size}) {
      if (other != rank && !in_tree(rank, other) && (all.empty() || all.back() != other)) {
        all.push_back(other);
      }
    }
    return all;
  }
  std::vector<Rank> adjacent_in_tree(Rank rank) const {
    std::vector<Rank> all;
    if (rank > 0) all.push_back(parent(rank));
    for (std::int64_t child = std::int64_t{rank} * radix + 1;
         child <= (std::int64_t{rank} + 1) * radix && child < size; ++child) {
      all.push_back(static_cast<Rank>(child));
    }
    return all;
  }
  // The rank next to `from` in the tree through which `to` is reached.
  Rank next_hop(Rank from, Rank to) const {
    for (Rank below = to; below > from;) {
      const Rank above = parent(below);
      if (above == from) return below;
      below = above;
    }
    return parent(from);
  }
};

}  // namespace unisono::transport
