// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How often each tensor was answered since a common response: tells where a plan that is being
// agreed on can begin. Sees the common sequence only, so every member comes to the same conclusion
// at the same response.
// Thread: the owner's.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "model/response.hpp"
#include "order/topo/plan.hpp"

namespace unisono::order {

class IterationBalance {
 public:
  void restart();
  void answered(const Response& response);
  // None of the plan's tensors failed, changed, or is two ahead of another.
  bool fits(const TopoPlan& plan) const;
  // In addition, all tensors were answered equally often: an iteration ends here.
  bool level(const TopoPlan& plan) const;

 private:
  struct Seen {
    std::uint64_t signature;
    std::uint64_t count;
  };
  struct Spread {
    std::uint64_t least, most;
  };
  Spread spread(const TopoPlan& plan) const;

  std::unordered_map<std::string, Seen> seen_;
  bool strange_ = false;                // something that could be in no plan was answered
};

}  // namespace unisono::order
