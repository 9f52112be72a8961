// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What became of the plans of one member so far, for people. Thread: the owner's.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/data/text.hpp"
#include "order/order.hpp"
#include "order/topo/plans/plan_library.hpp"
#include "order/topo/plans/planned.hpp"

namespace unisono::order {

class PlanHistory {
 public:
  void begun() { ++begun_; }
  void ended(const PlannedRun& run) {
    ++ended_;
    iterations_ = run.slots().iterations();
    why_ = run.why_stopped();
    if (why_.empty()) why_ = "another rank ended it";
  }

  OrderState following(const PlannedRun& run, const PlanLibrary& library) const {
    const std::string why = run.why_stopped();
    std::uint64_t buckets = 0;
    for (std::size_t i = 0; i < run.slots().plans(); ++i) buckets += run.slots().plan(i).size();
    return {.planned = true, .plans = begun_, .plans_ended = ended_, .buckets = buckets,
            .reason = why.empty() ? "every iteration is as planned"
                                  : cat("the plan ends, since ", why),
            .known = library.report(&run.slots())};
  }
  OrderState without(std::string reason, const PlanLibrary& library) const {
    if (ended_ > 0) {
      reason = cat(reason, "; the last plan ended after ", iterations_, " iterations: ", why_);
    }
    return {.planned = false, .plans = begun_, .plans_ended = ended_, .buckets = 0,
            .reason = std::move(reason), .known = library.report(nullptr)};
  }

 private:
  std::uint64_t begun_ = 0, ended_ = 0;
  std::uint64_t iterations_ = 0;        // of the last one that ended
  std::string why_;
};

}  // namespace unisono::order
