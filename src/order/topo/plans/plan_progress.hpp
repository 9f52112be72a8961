// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// While members negotiate: how far each known plan's iteration has come in the common sequence of
// responses, so that all members return to their plans at the same response, between iterations.
//
//   a response                                         means
//   has tensors of a plan, as they are there           the iteration goes on
//   ... that this iteration already had, twice,        the plan is broken
//       or that have changed, or failed anywhere
//   has tensors of no plan                             another iteration, to be learned
//   ... within an iteration, in two in a row           that plan is broken: it is a longer one
//
// Sees the common sequence only. Thread: the owner's.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/response.hpp"
#include "order/topo/plans/plan_slots.hpp"

namespace unisono::order {

class PlanProgress {
 public:
  // From here on, between iterations of all plans but one, which has run its first `buckets`.
  void restart(const Plans& plans);
  void has_run(const TopoPlan& plan, std::size_t buckets);
  void drop(const TopoPlan& plan);

  struct Heard {
    bool known = false;                 // all of it belongs to a plan that still holds
    Plans broken;                       // to be dropped by the caller, here as well
  };
  Heard answered(const Response& response);
  // No plan is within an iteration.
  bool level() const;
  // Iterations of known plans since anything else was answered.
  std::uint64_t matched() const { return matched_; }

 private:
  struct Track {
    std::shared_ptr<const TopoPlan> plan;
    std::vector<std::uint8_t> ahead;    // by slot: answered in this iteration
    std::size_t count = 0;              // of those
    bool disturbed = false;             // something else was answered within this iteration
    int disturbances = 0;               // iterations in a row
  };
  bool step(Track& track, const Response& response);

  std::vector<Track> tracks_;
  std::uint64_t matched_ = 0;
  bool clean_ = true;                   // nothing else since plans were level
};

}  // namespace unisono::order
