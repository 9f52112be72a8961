// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Planners that look at sizes or groups, not at times; and the greedy rule of MG-WFBP.
#include <algorithm>

#include "plan/iteration/profile.hpp"
#include "plan/iteration/rows.hpp"

namespace unisono::plan {

Arrangement arrange_wfbp(const IterationProblem& problem, const IterationSettings&) {
  const Profile profile(problem);
  BucketRow row(problem, profile);
  for (std::size_t i = 0; i < profile.count(); ++i) row.add(i + 1);
  return row.take();
}

Arrangement arrange_single(const IterationProblem& problem, const IterationSettings&) {
  const Profile profile(problem);
  BucketRow row(problem, profile);
  std::size_t begin = 0;
  for (std::size_t i = 1; i < profile.count(); ++i) {
    if (profile.may_share(begin, i + 1)) continue;
    row.add(i);
    begin = i;
  }
  if (profile.count() > 0) row.add(profile.count());
  return row.take();
}

Arrangement arrange_threshold(const IterationProblem& problem, const IterationSettings& settings) {
  const Profile profile(problem);
  BucketRow row(problem, profile);
  std::int64_t limit = settings.first_bytes > 0 ? settings.first_bytes : settings.fusion_bytes;
  std::size_t begin = 0;
  const auto close = [&](std::size_t end) {
    row.add(end);
    begin = end;
    limit = settings.fusion_bytes;
  };
  for (std::size_t i = 0; i < profile.count(); ++i) {
    const bool passes = !settings.reach_limit && profile.bytes(begin, i + 1) > limit;
    if (i > begin && (passes || !profile.may_share(begin, i + 1))) close(i);
    if (settings.reach_limit && profile.bytes(begin, i + 1) >= limit) close(i + 1);
  }
  if (begin < profile.count()) row.add(profile.count());
  return row.take();
}

// A group whose members are apart travels in several buckets, since buckets are consecutive.
Arrangement arrange_groups(const IterationProblem& problem, const IterationSettings&) {
  const Profile profile(problem);
  BucketRow row(problem, profile);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < profile.count(); ++i) {
    const int group = problem.tensors[i].group;
    const bool last = i + 1 == profile.count();
    if (last || group < 0 || problem.tensors[i + 1].group != group ||
        !profile.may_share(begin, i + 2)) {
      row.add(i + 1);
      begin = i + 1;
    }
  }
  return row.take();
}

// The open bucket could start at start_s. The next tensor joins it if that saves more than the
// bucket then waits: the rule compares with the start of the open bucket, not with how long it
// takes, and what has joined another bucket is no longer sent by itself. Where the cost is a line,
// what joining saves is its latency.
Arrangement arrange_greedy(const IterationProblem& problem, const IterationSettings&) {
  const Profile profile(problem);
  BucketRow row(problem, profile);
  if (profile.count() == 0) return row.take();
  const SizeCost& cost = *problem.methods.front().transfer;
  const std::optional<Line> line = cost.line();
  std::size_t begin = 0;
  double start = profile.ready_s[0];
  for (std::size_t next = 1; next < profile.count(); ++next) {
    const std::int64_t open = profile.bytes(begin, next), more = problem.tensors[next].bytes;
    const double saved = line ? line->latency_s
                              : cost.seconds(open) + cost.seconds(more) - cost.seconds(open + more);
    if (profile.may_share(begin, next + 1) && profile.ready_s[next] - start < saved) {
      start = std::max(start, profile.ready_s[next]);
    } else {
      row.add(next);
      start = std::max(start + cost.seconds(open), profile.ready_s[next]);
      begin = next;
    }
  }
  row.add(profile.count());
  return row.take();
}

}  // namespace unisono::plan
