// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Finds the steps of a training in a trace, and what one of them looks like. Pure.
//
// A step's tensors are those that come equally often: as often as most of the bytes do. Their k-th
// time is step k. Where no name comes twice, as with DDP, whose buckets are numbered, the sizes
// must come again and again in the same order; a step then begins after the longest pause, and
// tensors are called by their place in it. A step of a rank begins when its last tensor of the step
// before is done, since the program can then compute on. The first has no beginning, and so is not
// looked at.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trace/recording.hpp"

namespace unisono::tools {

struct StepTensor {
  std::string name;
  std::uint64_t bytes = 0;
  double ready_us = 0;                      // since the step began: median over steps, max of ranks
  std::map<int, double> ready_us_by_rank;   // medians
};

struct Steps {
  std::uint64_t count = 0;                  // all of them, the first one too
  std::vector<StepTensor> tensors;          // by readiness
  double step_us = 0;                       // from one beginning to the next: likewise
  bool by_sizes = false;                    // names did not tell steps apart
  std::uint64_t left_out = 0;               // names that do not come once a step
  std::uint64_t early = 0;                  // tensors that were ready before their step began

  std::uint64_t bytes() const;
};

Result<Steps> find_steps(const Recording& recording);
// What `unisono simulate --trace` reads.
std::string compact_json(const Steps& steps, std::size_t ranks);

}  // namespace unisono::tools
