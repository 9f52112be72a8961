// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The tree over the members of a set: member 0 is the root, member i the child of (i - 1) / radix.
// Pure arithmetic. A subtree is one run of indices per level, so that it is marked in few steps.
#pragma once

#include <algorithm>
#include <cstdint>

#include "order/messages/member_bits.hpp"

namespace unisono::order {

struct TreeShape {
  int members = 1;
  int radix = 2;                        // at least 1

  int parent(int i) const { return (i - 1) / radix; }
  int first_child(int i) const {
    return static_cast<int>(
        std::min<std::int64_t>(static_cast<std::int64_t>(i) * radix + 1, members));
  }
  int child_count(int i) const { return std::min(radix, members - first_child(i)); }
  bool is_child(int i, int of) const { return i > 0 && parent(i) == of; }
  // Whether some member is more than one step from the root.
  bool deep() const { return members - 1 > radix; }

  MemberBits subtree(int i) const {
    MemberBits bits(members);
    std::int64_t first = i, last = i;
    while (first < members) {
      bits.set_range(static_cast<int>(first),
                     static_cast<int>(std::min<std::int64_t>(last, members - 1)));
      first = first * radix + 1;
      last = (last + 1) * radix;
    }
    return bits;
  }
};

}  // namespace unisono::order
