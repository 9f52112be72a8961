// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Random iterations, and their best arrangement by trying every one.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/data/rng.hpp"
#include "plan/iteration/iteration.hpp"

namespace unisono::plan {

// A problem with all it points to.
struct Instance {
  std::vector<IterationTensor> tensors;
  std::vector<std::unique_ptr<SizeCost>> costs;
  std::vector<Method> methods;

  IterationProblem problem() const { return {tensors, methods}; }
  const SizeCost& cost() const { return *methods.front().transfer; }
};

Instance with_line(std::vector<IterationTensor> tensors, Line line);
// Ready times, sizes and the line are of like magnitude, so that every kind of answer occurs; some
// tensors are empty, some ready together.
std::vector<IterationTensor> random_tensors(Rng& rng, std::size_t count);
Line random_line(Rng& rng);
Instance random_instance(Rng& rng, std::size_t count);
// A cost with steps and flat parts.
std::unique_ptr<SizeCost> random_points(Rng& rng);

// Calls with every way to cut [0, count) into ranges: the ends of the ranges.
void for_every_cut(std::size_t count, const std::function<void(const std::vector<std::size_t>&)>&);
// The least finish over all of them and all methods that may be used.
double least_finish(const IterationProblem& problem, bool lossy = false);

}  // namespace unisono::plan
