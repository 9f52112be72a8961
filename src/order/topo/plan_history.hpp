// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What became of the plans of one member so far, for people. Thread: the owner's.
#pragma once

#include <cstdint>
#include <string>

#include "base/data/text.hpp"
#include "order/order.hpp"
#include "order/topo/planned.hpp"

namespace unisono::order {

class PlanHistory {
 public:
  void begun() { ++begun_; }
  void ended(const PlannedRun& run) {
    ++ended_;
    iterations_ = run.iterations();
    why_ = run.why_stopped();
    if (why_.empty()) why_ = "another rank ended it";
  }

  OrderState following(const PlannedRun& run) const {
    const std::string why = run.why_stopped();
    return {.planned = true, .plans = begun_, .plans_ended = ended_, .buckets = run.buckets(),
            .reason = why.empty() ? "every iteration is as planned"
                                  : cat("the plan ends, since ", why)};
  }
  OrderState without(std::string reason) const {
    if (ended_ > 0) {
      reason = cat(reason, "; the last plan ended after ", iterations_, " iterations: ", why_);
    }
    return {.planned = false, .plans = begun_, .plans_ended = ended_, .buckets = 0,
            .reason = std::move(reason)};
  }

 private:
  std::uint64_t begun_ = 0, ended_ = 0;
  std::uint64_t iterations_ = 0;        // of the last one that ended
  std::string why_;
};

}  // namespace unisono::order
