// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How the ranks of a job agree on what runs next, and what they have planned. Values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace unisono {

// How a bucket of a plan travels.
struct PlanMethodReport {
  std::string first;                        // its first tensor
  std::uint64_t tensors = 0;
  std::uint64_t bytes = 0;
  std::uint32_t channel = 0;                // one for each team
  std::string codec;                        // "": what its tensors ask for
  std::string algorithm;                    // over messages; "": as trials and rules have it
  // On rank 0, which plans: what the codecs that could be chosen were expected to take, that which
  // was chosen first, and why the algorithm is what it is. Elsewhere empty.
  std::string reason;
};

// A plan that the ranks know: one for each kind of step that recurs.
struct PlanReport {
  std::string first;                        // a tensor of its first bucket
  std::uint64_t tensors = 0;
  std::uint64_t buckets = 0;
  std::uint64_t iterations = 0;             // that followed it
  std::vector<PlanMethodReport> methods;    // by bucket
};

// How the ranks agree on the order of the world's operations at present.
struct OrderReport {
  std::string strategy;                     // as the option order names it
  std::string planner;                      // that arranges planned steps
  bool planned = false;                     // steps follow a plan, and nobody is asked
  std::uint64_t plans = 0;                  // how often steps began to be planned
  std::uint64_t plans_ended = 0;            // and ceased to be
  std::uint64_t buckets = 0;                // of the plans that are followed
  std::string reason;                       // in a sentence: why steps are planned, or not
  std::vector<PlanReport> known;            // while steps are planned up to 0.1 s old
};

}  // namespace unisono
