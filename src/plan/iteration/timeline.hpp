// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Prices an arrangement by itself: takes from it only which tensors travel together, in which order
// and how, and none of its times. What tests judge planners by. Pure; thread: any.
#pragma once

#include <string>

#include "plan/iteration/iteration.hpp"

namespace unisono::plan {

// The same arrangement with its times computed anew.
Arrangement timeline(const IterationProblem& problem, const Arrangement& arrangement);

// What is wrong with which tensors travel when; empty: nothing. Every tensor exactly once, in
// order, by a method that exists.
std::string fault_of(const IterationProblem& problem, const Arrangement& arrangement);

}  // namespace unisono::plan
