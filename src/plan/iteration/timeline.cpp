// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/iteration/timeline.hpp"

#include <algorithm>

#include "base/data/text.hpp"

namespace unisono::plan {
namespace {

// What a bucket holds, counted tensor by tensor.
struct Content {
  double ready_s = 0;
  std::int64_t bytes = 0;
};

Content content_of(const IterationProblem& problem, const TimedBucket& bucket) {
  Content content;
  for (std::size_t i = 0; i < bucket.end; ++i) {
    content.ready_s = std::max(content.ready_s, problem.tensors[i].ready_s);
    if (i >= bucket.begin) content.bytes += problem.tensors[i].bytes;
  }
  return content;
}

// When each tensor may be used, and then the forward pass, tensor by tensor.
void pass_forward(const IterationProblem& problem, const std::vector<double>& arrival,
                  Arrangement& priced) {
  double now = 0, compute = 0;
  for (const IterationTensor& tensor : problem.tensors) now = std::max(now, tensor.ready_s);
  const double begin = now;
  for (std::size_t i = arrival.size(); i-- > 0;) {
    if (arrival[i] > now) now = arrival[i];
    now += problem.tensors[i].forward_s;
    compute += problem.tensors[i].forward_s;
  }
  priced.forward_end_s = now;
  priced.waited_s = now - compute - begin;
}

double run_buckets(const IterationProblem& problem, std::vector<TimedBucket>& buckets,
                   const SizeCost* scatter) {
  double free = 0;
  for (TimedBucket& bucket : buckets) {
    const Content content = content_of(problem, bucket);
    const Method& method = problem.methods[bucket.method];
    const SizeCost& cost = scatter == nullptr ? *method.transfer : *scatter;
    double could = content.ready_s;
    if (method.encode != nullptr) could += method.encode->seconds(content.bytes);
    bucket.start_s = free > could ? free : could;
    free = bucket.end_s = bucket.start_s + cost.seconds(content.bytes);
  }
  return free;
}

std::string ranges_fault(const IterationProblem& problem, std::vector<TimedBucket> buckets,
                         const char* what) {
  std::size_t at = 0;
  for (const TimedBucket& bucket : buckets) {
    if (bucket.begin != at || bucket.end <= bucket.begin) {
      return cat(what, " [", bucket.begin, ", ", bucket.end, ") does not follow ", at);
    }
    if (bucket.method >= problem.methods.size()) return cat(what, " by no method");
    at = bucket.end;
  }
  if (at == problem.tensors.size()) return {};
  return cat(what, "s end at ", at, " of ", problem.tensors.size());
}

std::string parts_fault(const IterationProblem& problem, const std::vector<TimedPart>& parts) {
  std::vector<std::int64_t> sent(problem.tensors.size(), -1);
  for (const TimedPart& part : parts) {
    if (part.tensor >= sent.size()) return cat("a part of no tensor, ", part.tensor);
    std::int64_t& of = sent[part.tensor];
    of = std::max<std::int64_t>(of, 0);
    if (part.offset != of) return cat("tensor ", part.tensor, " goes on at ", part.offset);
    of += part.bytes;
  }
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if (sent[i] != problem.tensors[i].bytes) return cat("tensor ", i, " sends ", sent[i], " bytes");
  }
  return {};
}

}  // namespace

Arrangement timeline(const IterationProblem& problem, const Arrangement& arrangement) {
  Arrangement priced = arrangement;
  const HalfCost half(*problem.methods.front().transfer);
  const bool two_phase = !priced.gathers.empty();
  const SizeCost* scatter = !two_phase                   ? nullptr
                            : problem.scatter == nullptr ? &half
                                                         : problem.scatter;
  const SizeCost& gather = problem.gather == nullptr ? half : *problem.gather;
  std::vector<double> arrival(problem.tensors.size(), 0);
  if (!priced.parts.empty()) {
    double free = 0;
    for (TimedBucket& bucket : priced.buckets) bucket.start_s = bucket.end_s = -1;
    for (TimedPart& part : priced.parts) {
      const Content content = content_of(problem, {part.tensor, part.tensor + 1});
      // When it was handed over is a decision; that it was ready is not.
      part.start_s = std::max({free, part.handed_s, content.ready_s});
      free = part.end_s = part.start_s + problem.methods.front().transfer->seconds(part.bytes);
      TimedBucket& bucket = priced.buckets[part.tensor];
      if (bucket.start_s < 0) bucket.start_s = part.start_s;
      arrival[part.tensor] = bucket.end_s = free;
    }
    priced.finish_s = free;
  } else {
    double free = run_buckets(problem, priced.buckets, scatter);
    std::fill(arrival.begin(), arrival.end(), free);
    for (TimedBucket& each : priced.gathers) {
      each.start_s = free;
      free = each.end_s = free + gather.seconds(content_of(problem, each).bytes);
      for (std::size_t i = each.begin; i < each.end; ++i) arrival[i] = free;
    }
    priced.finish_s = free;
  }
  pass_forward(problem, arrival, priced);
  return priced;
}

std::string fault_of(const IterationProblem& problem, const Arrangement& arrangement) {
  std::string fault = ranges_fault(problem, arrangement.buckets, "bucket");
  if (fault.empty() && !arrangement.gathers.empty()) {
    std::vector<TimedBucket> backward(arrangement.gathers.rbegin(), arrangement.gathers.rend());
    fault = ranges_fault(problem, std::move(backward), "gather");
  }
  if (fault.empty() && !arrangement.parts.empty()) fault = parts_fault(problem, arrangement.parts);
  return fault;
}

}  // namespace unisono::plan
