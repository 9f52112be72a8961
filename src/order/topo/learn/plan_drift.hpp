// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Whether another arrangement of a planned iteration has become worth the change, by when tensors
// are submitted on this member now and by the costs known now.
//
// Looks at the median of a few iterations at a time. Another plan must promise to end sooner by a
// margin, several looks in a row: what comes and goes with a busy machine is no reason. Looks that
// find nothing come ever more rarely.
// Thread: the owner's.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "model/iteration/iteration_graph.hpp"

namespace unisono::order {

// A plan as it was arranged.
struct ArrangedIteration {
  std::shared_ptr<const IterationArranger> arranger;  // null: nothing to compare with
  IterationGraph graph;
  IterationBuckets buckets;
  IterationMethods methods;             // as arranged; may be empty
};

struct DriftRules {
  std::size_t watched = 16;             // iterations for one look
  int in_a_row = 3;                     // looks that must all promise more
  double worth_it = 1.05;               // how much longer the plan must take than the best one
  // No look before so many iterations; twice as many after each plan that was made anew.
  std::uint64_t iterations_min = 64;
};

class PlanDrift {
 public:
  static constexpr std::uint64_t kBetweenMax = 4096;

  // Slots count over the tensors of all buckets in order; `unit_of` is by slot.
  PlanDrift(ArrangedIteration arranged, std::vector<std::uint32_t> unit_of, DriftRules rules);

  // An iteration whose tensors were submitted at these times, by slot. Returns whether it is time
  // for another plan.
  bool passed(std::span<const Time> submitted);

 private:
  bool promises_more() const;

  ArrangedIteration arranged_;
  std::vector<std::uint32_t> unit_of_;
  DriftRules rules_;
  std::vector<std::vector<std::int64_t>> rows_;  // by iteration, by unit
  std::uint64_t left_;                  // iterations before the next look begins
  std::uint64_t between_;
  int in_a_row_ = 0;
};

}  // namespace unisono::order
