// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/iteration/testing/instances.hpp"

#include <algorithm>
#include <limits>

namespace unisono::plan {

Instance with_line(std::vector<IterationTensor> tensors, Line line) {
  Instance made;
  made.tensors = std::move(tensors);
  made.costs.push_back(std::make_unique<LineCost>(line));
  made.methods.push_back({"none", made.costs.front().get()});
  return made;
}

std::vector<IterationTensor> random_tensors(Rng& rng, std::size_t count) {
  std::vector<IterationTensor> tensors(count);
  const bool together = rng.below(4) == 0;
  double ready = rng.uniform();
  for (IterationTensor& tensor : tensors) {
    if (!together || rng.below(2) == 0) ready += rng.uniform();
    tensor.ready_s = ready;
    tensor.bytes = rng.below(8) == 0 ? 0 : static_cast<std::int64_t>(rng.below(1000));
    tensor.forward_s = rng.uniform();
    tensor.group = static_cast<int>(rng.below(4)) - 1;
  }
  return tensors;
}

Line random_line(Rng& rng) {
  const double latency = rng.below(10) == 0 ? 0 : 2 * rng.uniform();
  return {latency, rng.below(10) == 0 ? 0 : 2e-3 * rng.uniform()};
}

Instance random_instance(Rng& rng, std::size_t count) {
  std::vector<IterationTensor> tensors = random_tensors(rng, count);
  return with_line(std::move(tensors), random_line(rng));
}

std::unique_ptr<SizeCost> random_points(Rng& rng) {
  std::vector<PointsCost::Point> points;
  std::int64_t bytes = 0;
  double seconds = rng.uniform();
  for (std::uint64_t i = 0, n = 1 + rng.below(5); i < n; ++i) {
    points.push_back({bytes, seconds});
    bytes += 1 + static_cast<std::int64_t>(rng.below(800));
    if (rng.below(3) != 0) seconds += rng.uniform();
  }
  return std::make_unique<PointsCost>(std::move(points));
}

void for_every_cut(std::size_t count,
                   const std::function<void(const std::vector<std::size_t>&)>& see) {
  std::vector<std::size_t> ends;
  for (std::uint64_t mask = 0; mask < (std::uint64_t{1} << (count - 1)); ++mask) {
    ends.clear();
    for (std::size_t i = 0; i + 1 < count; ++i) {
      if (mask >> i & 1) ends.push_back(i + 1);
    }
    ends.push_back(count);
    see(ends);
  }
}

double least_finish(const IterationProblem& problem, bool lossy) {
  if (problem.tensors.empty()) return 0;
  double best = std::numeric_limits<double>::infinity();
  for_every_cut(problem.tensors.size(), [&](const std::vector<std::size_t>& ends) {
    double free = 0;
    std::size_t at = 0;
    for (const std::size_t end : ends) {
      std::int64_t bytes = 0;
      for (; at < end; ++at) bytes += problem.tensors[at].bytes;
      const double ready = problem.tensors[end - 1].ready_s;
      // Whatever follows, a bucket that ends sooner is never worse.
      double soonest = std::numeric_limits<double>::infinity();
      for (const Method& method : problem.methods) {
        if (method.lossy && !lossy) continue;
        const double encoded =
            ready + (method.encode == nullptr ? 0 : method.encode->seconds(bytes));
        soonest = std::min(soonest, std::max(free, encoded) + method.transfer->seconds(bytes));
      }
      free = soonest;
    }
    best = std::min(best, free);
  });
  return best;
}

}  // namespace unisono::plan
