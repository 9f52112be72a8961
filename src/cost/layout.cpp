// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "cost/layout.hpp"

#include <algorithm>
#include <map>

namespace unisono::cost {

Layout layout_of(const Network& network, const Members& members) {
  const int n = members.count();
  Layout layout{.n = n, .hosts = 1, .each = n, .least = n, .within = network.within};
  if (network.host_of.empty()) return layout;
  std::map<int, int> on_host;
  for (const Rank rank : members.ranks) ++on_host[network.host_of[static_cast<std::size_t>(rank)]];
  layout.hosts = static_cast<int>(on_host.size());
  layout.each = 0;
  for (const auto& [host, count] : on_host) {
    layout.each = std::max(layout.each, count);
    layout.least = std::min(layout.least, count);
    layout.apart += static_cast<std::int64_t>(count) * (n - count);
  }
  return layout;
}

}  // namespace unisono::cost
