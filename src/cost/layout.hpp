// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Where the members of a set are, as far as the time of a collective depends on it. Pure; thread:
// any.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "cost/links.hpp"
#include "model/members.hpp"

namespace unisono::cost {

struct Layout {
  int n = 1;
  int hosts = 1;
  int each = 1;                             // members on the host that has the most
  int least = 1;                            // on the one that has the fewest
  std::int64_t apart = 0;                   // pairs on different hosts, counted from either end
  LinkClass within = LinkClass::memory, between = LinkClass::wire;

  friend auto operator<=>(const Layout&, const Layout&) = default;
};

// What all ranks of a job know of what joins them.
struct Network {
  bool usable = false;                      // false: nothing was measured, fixed rules hold
  Costs costs;
  std::array<bool, kLinkClasses> measured{};  // the others have typical figures
  std::vector<int> host_of;                 // by rank, counted from 0; empty: all on one host
  LinkClass within = LinkClass::memory;     // what joins ranks of a host
};

Layout layout_of(const Network& network, const Members& members);

}  // namespace unisono::cost
