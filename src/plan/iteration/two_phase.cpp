// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Reduce-scatters during the backward pass, then all-gathers during the next forward pass, on the
// same channel. The scatters are the buckets that end soonest; the gathers follow back to back, in
// the order in which the forward pass needs the tensors, and a layer waits for the gather that
// carries it. When the gathers begin only moves all of it, so both halves are best by themselves.
//
// A forward pass that waits for gather (i, j], which arrives at c, ends no sooner than c plus the
// forward times from i on; the latest of these is its end. So a given end is possible if every
// gather arrives by then less the forward times from its first tensor on. Of two ways to have
// gathered the first i tensors the one that is through sooner is never worse: one pass says whether
// an end is possible, and bisection finds the least. It stops where no number lies between the
// bounds, so what is found is the optimum to the last bits. A pass takes O(L²) for any cost. For a
// line all that counts is how many gathers there were, and with the same number to have got
// further: O(L).
#include <algorithm>
#include <limits>

#include "plan/iteration/profile.hpp"
#include "plan/iteration/rows.hpp"

namespace unisono::plan {
namespace {

constexpr double kTooLate = std::numeric_limits<double>::infinity();

// The tensors from the first layer on, which is the backward order reversed.
struct ForwardPass {
  explicit ForwardPass(const IterationProblem& problem)
      : count(problem.tensors.size()), sum(count + 1, 0), rest_s(count + 1, 0) {
    for (std::size_t i = 0; i < count; ++i) {
      sum[i + 1] = sum[i] + problem.tensors[count - 1 - i].bytes;
    }
    for (std::size_t i = count; i > 0; --i) {
      rest_s[i - 1] = rest_s[i] + problem.tensors[count - i].forward_s;
    }
  }
  std::size_t count;
  std::vector<std::int64_t> sum;        // of bytes before
  std::vector<double> rest_s;           // forward times from here on
};

using Cuts = std::vector<std::size_t>;  // where gathers end, in forward order; empty: impossible

Cuts gathers_by(const ForwardPass& pass, const SizeCost& cost, double begin_s, double end_s) {
  std::vector<double> arrived(pass.count + 1, kTooLate);
  std::vector<std::size_t> from(pass.count + 1, 0);
  arrived[0] = begin_s;
  for (std::size_t i = 0; i < pass.count; ++i) {
    if (arrived[i] == kTooLate) continue;
    for (std::size_t j = i + 1; j <= pass.count; ++j) {
      const double then = arrived[i] + cost.seconds(pass.sum[j] - pass.sum[i]);
      if (then > end_s - pass.rest_s[i]) break;
      if (then < arrived[j]) arrived[j] = then, from[j] = i;
    }
  }
  Cuts cuts;
  if (arrived[pass.count] == kTooLate) return cuts;
  for (std::size_t j = pass.count; j > 0; j = from[j]) cuts.push_back(j);
  std::reverse(cuts.begin(), cuts.end());
  return cuts;
}

Cuts gathers_by(const ForwardPass& pass, const Line& line, double begin_s, double end_s) {
  Cuts cuts;
  double spent = begin_s;               // on latencies
  for (std::size_t at = 0; at < pass.count;) {
    spent += line.latency_s;
    const double by = end_s - pass.rest_s[at];
    std::size_t next = at;
    while (next < pass.count &&
           spent + line.per_byte_s * static_cast<double>(pass.sum[next + 1]) <= by) {
      ++next;
    }
    if (next == at) return {};
    cuts.push_back(next);
    at = next;
  }
  return cuts;
}

// The gathers of these cuts with their times, and the forward pass behind them.
void time_gathers(const ForwardPass& pass, const SizeCost& cost, const Cuts& cuts, double begin_s,
                  Arrangement& made) {
  made.gathers.clear();
  double channel = begin_s, compute = begin_s;
  std::size_t from = 0;
  for (const std::size_t to : cuts) {
    const double start = channel;
    channel = start + cost.seconds(pass.sum[to] - pass.sum[from]);
    made.gathers.push_back({pass.count - to, pass.count - from, 0, start, channel});
    compute = std::max(compute, channel) + (pass.rest_s[from] - pass.rest_s[to]);
    from = to;
  }
  made.finish_s = channel;
  made.forward_end_s = compute;
}

}  // namespace

Arrangement arrange_two_phase(const IterationProblem& problem, const IterationSettings& settings) {
  const Profile profile(problem);
  const HalfCost half(*problem.methods.front().transfer);
  const SizeCost& scatter = problem.scatter == nullptr ? half : *problem.scatter;
  const SizeCost& gather = problem.gather == nullptr ? half : *problem.gather;
  const Method plain[] = {{"none", &scatter}};
  IterationProblem first = problem;
  first.methods = plain;
  Arrangement best = arrange_merged(first, settings);
  if (profile.count() == 0) return best;

  const double begin = best.finish_s;
  const ForwardPass pass(problem);
  const std::optional<Line> line = gather.line();
  time_gathers(pass, gather, {pass.count}, begin, best);
  double low = begin, high = best.forward_end_s;
  while (true) {
    const double middle = low + (high - low) / 2;
    if (!(middle > low && middle < high)) break;
    const Cuts cuts = line ? gathers_by(pass, *line, begin, middle)
                           : gathers_by(pass, gather, begin, middle);
    if (cuts.empty()) {
      low = middle;
      continue;
    }
    Arrangement found = best;
    time_gathers(pass, gather, cuts, begin, found);
    high = std::min(middle, found.forward_end_s);
    if (found.forward_end_s < best.forward_end_s) best = std::move(found);
  }
  best.waited_s = best.forward_end_s - pass.rest_s[0] - profile.ready_s.back();
  return best;
}

}  // namespace unisono::plan
