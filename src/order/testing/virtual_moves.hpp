// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// For tests: the data operations of one set, without the data. Every member goes through the same
// operations one after the other; one ends with the strongest vote of all members once all have
// entered it, and with abort when a member left without entering it, or when members chose to begin
// different plans.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/response.hpp"

namespace unisono::order {

class VirtualMoves {
 public:
  explicit VirtualMoves(std::size_t members) : at_(members), gone_(members) {}

  bool entered(std::size_t member) const { return at_[member].entered; }
  // Enters the member's next operation; returns false when another member called it something else.
  bool enter(std::size_t member, const std::string& what, PlanVote vote, std::uint64_t choice = 0) {
    at_[member].entered = true;
    Operation& operation = operations_[at_[member].operation];
    if (operation.entered.empty()) {
      operation.what = what;
      operation.chosen = choice;
    }
    const bool alike = (operation.chosen == 0) == (choice == 0);
    const bool differ = choice != 0 && choice != operation.chosen;
    operation.entered[member] = differ ? PlanVote::abort : vote;
    return alike && (choice != 0 || operation.what == what);
  }
  const std::string& what(std::size_t member) const {
    return operations_.at(at_[member].operation).what;
  }
  // The vote of the operation the member has entered; nothing while it has to wait for others.
  std::optional<PlanVote> outcome(std::size_t member) const {
    const Operation& operation = operations_.at(at_[member].operation);
    PlanVote strongest = PlanVote::run;
    bool waits = false, impossible = false;
    for (std::size_t i = 0; i < at_.size(); ++i) {
      const auto it = operation.entered.find(i);
      if (it != operation.entered.end()) {
        strongest = std::max(strongest, it->second);
      } else {
        waits = true;
        impossible |= gone_[i];
      }
    }
    if (impossible) return PlanVote::abort;
    return waits ? std::nullopt : std::optional(strongest);
  }
  void end(std::size_t member) {
    ++at_[member].operation;
    at_[member].entered = false;
  }
  void leave(std::size_t member) { gone_[member] = true; }

 private:
  struct Operation {
    std::string what;
    std::uint64_t chosen = 0;           // by the first that entered
    std::map<std::size_t, PlanVote> entered;
  };
  struct Place {
    std::size_t operation = 0;          // under way or next
    bool entered = false;
  };

  std::vector<Place> at_;
  std::vector<bool> gone_;
  std::map<std::size_t, Operation> operations_;
};

}  // namespace unisono::order
