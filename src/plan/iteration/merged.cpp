// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The buckets that end soonest. finish[j] is when the first j tensors have arrived at best:
//
//   finish[0] = 0,  finish[j] = min over i < j of max(finish[i], ready[j]) + T(bytes of i..j)
//
// which holds since a later start never ends sooner. finish never falls, so of all i with
// finish[i] <= ready[j] the largest is the best: the bucket starts at ready[j] anyhow, and carries
// the least. Let k be that i. For a line T = a + b * bytes the others, k < i < j, start at
// finish[i], so the best of them has the least finish[i] - b * sum[i]; k only grows with j, so
// these are the minima of a window that moves to the right, kept in a deque.
//
// Where a tensor may not share a bucket with all before it, the i below the first it may share with
// drop out; that first never falls either.
//
// Ties: the smallest i from k on, hence the longest last bucket; then the first method.
#include <algorithm>
#include <limits>

#include "base/check.hpp"
#include "plan/iteration/profile.hpp"
#include "plan/iteration/rows.hpp"

namespace unisono::plan {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Tries every bucket end and every method that may be used.
Arrangement best_of(const IterationProblem& problem, std::span<const std::size_t> usable) {
  const Profile profile(problem);
  const std::size_t count = profile.count();
  std::vector<double> finish(count + 1, 0);
  std::vector<LastBucket> last(count + 1);
  std::size_t k = 0;
  for (std::size_t j = 1; j <= count; ++j) {
    const double ready = profile.ready_s[j - 1];
    while (k + 1 < j && finish[k + 1] <= ready) ++k;
    double best = kNever;
    for (std::size_t i = std::max(k, profile.first[j]); i < j; ++i) {
      const std::int64_t bytes = profile.bytes(i, j);
      for (const std::size_t m : usable) {
        if ((problem.tensors[j - 1].methods >> m & 1) == 0) continue;
        const Method& method = problem.methods[m];
        const double encoded =
            method.encode == nullptr ? ready : ready + method.encode->seconds(bytes);
        const double start = std::max(finish[i], encoded);
        const double end = start + method.transfer->seconds(bytes);
        if (end < best || best == kNever) {
          best = end;
          last[j] = {i, m, start};
        }
      }
    }
    finish[j] = best;
  }
  return walk_back(problem, finish, last);
}

}  // namespace

Arrangement merged_for_any_cost(const IterationProblem& problem) {
  const std::size_t plain[] = {0};
  return best_of(problem, plain);
}

Arrangement merged_for_line(const IterationProblem& problem, Line line) {
  const Profile profile(problem);
  const std::size_t count = profile.count();
  std::vector<double> finish(count + 1, 0), key(count + 1, 0);
  std::vector<LastBucket> last(count + 1);
  // Positions whose keys grow from head to the end; a vector, since each enters once.
  std::vector<std::size_t> window;
  window.reserve(count);
  std::size_t head = 0, k = 0;
  for (std::size_t j = 1; j <= count; ++j) {
    const double ready = profile.ready_s[j - 1];
    while (k + 1 < j && finish[k + 1] <= ready) ++k;
    const std::size_t first = profile.first[j];
    while (head < window.size() && (window[head] <= k || window[head] < first)) ++head;
    const auto end_from = [&](std::size_t i) {
      return std::max(finish[i], ready) + line.seconds(profile.bytes(i, j));
    };
    // Below the first, k stands for nothing; then the window holds at least the tensor before j.
    std::size_t best = k >= first ? k : window[head];
    finish[j] = end_from(best);
    if (head < window.size() && end_from(window[head]) < finish[j]) {
      best = window[head];
      finish[j] = end_from(best);
    }
    last[j] = {best, 0, std::max(finish[best], ready)};
    key[j] = finish[j] - line.per_byte_s * static_cast<double>(profile.sum[j]);
    while (window.size() > head && key[window.back()] > key[j]) window.pop_back();
    window.push_back(j);
  }
  return walk_back(problem, finish, last);
}

Arrangement arrange_merged(const IterationProblem& problem, const IterationSettings&) {
  UNISONO_CHECK(!problem.methods.empty());
  const std::optional<Line> line = problem.methods.front().transfer->line();
  return line ? merged_for_line(problem, *line) : merged_for_any_cost(problem);
}

Arrangement arrange_methods(const IterationProblem& problem, const IterationSettings& settings) {
  std::vector<std::size_t> usable;
  for (std::size_t m = 0; m < problem.methods.size(); ++m) {
    if (m == 0 || settings.allow_lossy || !problem.methods[m].lossy) usable.push_back(m);
  }
  return best_of(problem, usable);
}

}  // namespace unisono::plan
