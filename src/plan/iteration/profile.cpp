// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/iteration/profile.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace unisono::plan {

Profile::Profile(const IterationProblem& problem) {
  UNISONO_CHECK(!problem.methods.empty() && problem.methods.front().encode == nullptr);
  ready_s.reserve(problem.tensors.size());
  sum.reserve(problem.tensors.size() + 1);
  sum.push_back(0);
  first.assign(1, 0);
  first.reserve(problem.tensors.size() + 1);
  double latest = 0;
  for (const IterationTensor& tensor : problem.tensors) {
    latest = std::max(latest, tensor.ready_s);
    ready_s.push_back(latest);
    sum.push_back(sum.back() + tensor.bytes);
    UNISONO_CHECK(tensor.joins_from < ready_s.size());
    first.push_back(std::max(first.back(), tensor.joins_from));
  }
}

void BucketRow::add(std::size_t end) {
  const bool first = made_.buckets.empty();
  const std::size_t begin = first ? 0 : made_.buckets.back().end;
  const double free = first ? 0 : made_.buckets.back().end_s;
  const Method& method = problem_.methods.front();
  const std::int64_t bytes = profile_.bytes(begin, end);
  const double start = std::max(free, profile_.ready_s[end - 1]);
  made_.buckets.push_back({begin, end, 0, start, start + method.transfer->seconds(bytes)});
}

Arrangement BucketRow::take() {
  made_.finish_s = made_.buckets.empty() ? 0 : made_.buckets.back().end_s;
  wait_for_all(problem_, made_);
  return std::move(made_);
}

Arrangement walk_back(const IterationProblem& problem, const std::vector<double>& finish,
                      const std::vector<LastBucket>& last) {
  Arrangement made;
  for (std::size_t end = finish.size() - 1; end > 0;) {
    const LastBucket& bucket = last[end];
    made.buckets.push_back({bucket.begin, end, bucket.method, bucket.start_s, finish[end]});
    end = bucket.begin;
  }
  std::reverse(made.buckets.begin(), made.buckets.end());
  made.finish_s = finish.back();
  wait_for_all(problem, made);
  return made;
}

void wait_for_all(const IterationProblem& problem, Arrangement& arrangement) {
  double backward_end = 0;
  double end = arrangement.finish_s;
  for (const IterationTensor& tensor : problem.tensors) {
    backward_end = std::max(backward_end, tensor.ready_s);
  }
  arrangement.waited_s = arrangement.finish_s - backward_end;
  for (std::size_t i = problem.tensors.size(); i > 0; --i) end += problem.tensors[i - 1].forward_s;
  arrangement.forward_end_s = end;
}

}  // namespace unisono::plan
