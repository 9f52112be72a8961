// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the rows of iteration_table() do. Pure; thread: any.
#pragma once

#include "plan/iteration/iteration.hpp"

namespace unisono::plan {

Arrangement arrange_wfbp(const IterationProblem& problem, const IterationSettings& settings);
Arrangement arrange_single(const IterationProblem& problem, const IterationSettings& settings);
Arrangement arrange_threshold(const IterationProblem& problem, const IterationSettings& settings);
Arrangement arrange_groups(const IterationProblem& problem, const IterationSettings& settings);
Arrangement arrange_greedy(const IterationProblem& problem, const IterationSettings& settings);
Arrangement arrange_merged(const IterationProblem& problem, const IterationSettings& settings);
Arrangement arrange_methods(const IterationProblem& problem, const IterationSettings& settings);
Arrangement arrange_two_phase(const IterationProblem& problem, const IterationSettings& settings);
Arrangement arrange_priority(const IterationProblem& problem, const IterationSettings& settings);

// The two ways of arrange_merged, which takes the second where it can: O(L²) for any cost, and
// O(L) where the first method's transfer is that line.
Arrangement merged_for_any_cost(const IterationProblem& problem);
Arrangement merged_for_line(const IterationProblem& problem, Line line);

}  // namespace unisono::plan
