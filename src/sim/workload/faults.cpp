// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/faults.hpp"

namespace unisono::sim {

void LinkSequencer::arrived(int from, int to, std::uint32_t number, std::uint32_t handle,
                            std::vector<std::uint32_t>& in_order,
                            std::vector<std::uint32_t>& repeated) {
  Link& at = link(from, to);
  if (number < at.next || !at.early.emplace(number, handle).second) {
    repeated.push_back(handle);
    return;
  }
  for (auto it = at.early.begin(); it != at.early.end() && it->first == at.next; ++at.next) {
    in_order.push_back(it->second);
    it = at.early.erase(it);
  }
}

}  // namespace unisono::sim
