// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How often each tensor was answered since a common response: tells where a plan that is being
// agreed on can begin. Sees the common sequence only, so every member comes to the same conclusion
// at the same response, whenever it got the plan.
// Cost of a response: some hash lookups; of a question: none.
// Thread: the owner's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/response.hpp"
#include "order/topo/plan.hpp"

namespace unisono::order {

class IterationBalance {
 public:
  // Counts anew; the plan is forgotten.
  void restart() { *this = {}; }
  void answered(const Response& response);
  // The plan that the questions are about. Counts go on.
  void watch(std::shared_ptr<const TopoPlan> plan);
  // None of the plan's tensors failed, changed, or is two ahead of another.
  bool fits() const { return !strange_ && most_ - least_ <= 1; }
  // In addition, all tensors were answered equally often: an iteration ends here.
  bool level() const { return most_ == least_; }

 private:
  struct Seen {
    std::uint64_t signature;
    std::uint64_t count;
  };
  void count(const Response& response, std::size_t index);
  void find_spread();

  std::unordered_map<std::string, Seen> seen_;  // what is not in the plan
  std::shared_ptr<const TopoPlan> plan_;
  std::vector<std::uint64_t> counts_;   // by slot of the plan
  std::size_t slots_seen_ = 0;
  std::uint64_t least_ = 0, most_ = 0;  // of the counts
  std::size_t at_least_ = 0;            // how many slots have the least
  bool strange_ = false;                // something that could be in no plan was answered
};

}  // namespace unisono::order
