// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What was reckoned with when a sparse stream chose its algorithm, as an explanation shows it.
// Pure; thread: any.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cost/sparse_algorithms.hpp"
#include "run/select/explanations.hpp"

namespace unisono::run {

inline std::vector<AlgorithmTrial> trials_of(std::span<const cost::SparseCandidate> candidates) {
  std::vector<AlgorithmTrial> out;
  for (const cost::SparseCandidate& each : candidates) {
    out.push_back({std::string(each.algorithm), each.predicted_s * 1e6});
  }
  return out;
}

}  // namespace unisono::run
