// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The plans that all members know: one for each iteration that recurs.
//
// No tensor is in two of them, so that its name alone tells which plan an iteration follows: a plan
// that comes later takes the place of those it shares a tensor with. Beyond so many plans the one
// that has not run for longest is dropped. Both depend on nothing but what all members saw alike.
// Thread: the owner's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "order/order.hpp"
#include "order/topo/learn/plan_drift.hpp"
#include "order/topo/plans/plan_slots.hpp"

namespace unisono::order {

class PlanLibrary {
 public:
  explicit PlanLibrary(std::size_t plans_max) : max_(plans_max == 0 ? 1 : plans_max) {}

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  Plans plans() const;
  std::vector<std::shared_ptr<PlanDrift>> drifts() const;
  // `drift` is null where nobody watches it; `reasons` are by bucket, or none.
  void add(std::shared_ptr<const TopoPlan> plan, std::shared_ptr<PlanDrift> drift,
           std::vector<std::string> reasons = {});
  void drop(const TopoPlan& plan);
  // Adds up what ran since plans() were given to the slots.
  void ran(const PlanSlots& slots);
  // For people; `running` may be null.
  std::vector<KnownPlan> report(const PlanSlots* running) const;

 private:
  struct Entry {
    std::shared_ptr<const TopoPlan> plan;
    std::shared_ptr<PlanDrift> drift;
    std::vector<std::string> reasons;
    std::uint64_t iterations = 0, last_used = 0;
    // Made when somebody asks: thousands of members of a simulation never do.
    mutable std::shared_ptr<const std::vector<KnownBucket>> methods = {};
  };
  std::size_t max_;
  std::uint64_t clock_ = 0;             // iterations that ran, and plans that were added
  std::vector<Entry> entries_;
};

}  // namespace unisono::order
