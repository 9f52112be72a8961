// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/mesh/overlay.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace unisono::transport {
namespace {

TEST(Overlay, EveryRouteReachesItsEndThroughTheTree) {
  for (const int size : {2, 3, 17, 18, 40, 273}) {
    for (const int radix : {2, 3, 16}) {
      const Overlay overlay{size, radix};
      for (Rank from = 0; from < size; ++from) {
        for (Rank to = 0; to < size; ++to) {
          int hops = 0;
          for (Rank at = from; at != to; ++hops) {
            const Rank next = overlay.next_hop(at, to);
            ASSERT_TRUE(overlay.in_tree(at, next)) << at << " to " << next;
            ASSERT_LT(hops, 20);
            at = next;
          }
        }
      }
    }
  }
}

TEST(Overlay, AdjacencyIsMutualAndNamedOnce) {
  for (const int size : {2, 3, 4, 17, 18, 40, 512}) {
    const Overlay overlay{size, 16};
    for (Rank rank = 0; rank < size; ++rank) {
      std::vector<Rank> mine = overlay.adjacent_to(rank);
      for (const Rank other : mine) {
        const std::vector<Rank> theirs = overlay.adjacent_to(other);
        EXPECT_NE(std::ranges::find(theirs, rank), theirs.end()) << rank << " and " << other;
        EXPECT_TRUE(overlay.adjacent(rank, other));
      }
      std::ranges::sort(mine);
      EXPECT_EQ(std::ranges::adjacent_find(mine), mine.end()) << rank;
      EXPECT_LE(mine.size(), 19u);
    }
  }
}

// Whoever is lost, a message that all survivors pass on reaches all of them.
TEST(Overlay, NoSingleLossDividesTheSurvivors) {
  const Overlay overlay{70, 4};
  for (Rank lost = 0; lost < overlay.size; ++lost) {
    std::vector<bool> told(static_cast<std::size_t>(overlay.size));
    std::vector<Rank> next{lost == 0 ? 1 : 0};
    told[static_cast<std::size_t>(next.front())] = told[static_cast<std::size_t>(lost)] = true;
    while (!next.empty()) {
      const Rank at = next.back();
      next.pop_back();
      for (const Rank other : overlay.adjacent_to(at)) {
        if (told[static_cast<std::size_t>(other)]) continue;
        told[static_cast<std::size_t>(other)] = true;
        next.push_back(other);
      }
    }
    EXPECT_EQ(std::ranges::count(told, true), overlay.size) << "without rank " << lost;
  }
}

}  // namespace
}  // namespace unisono::transport
