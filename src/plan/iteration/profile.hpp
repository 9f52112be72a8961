// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A problem as planners read it: prefix sums and ready times in order. Pure; thread: any.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/iteration/iteration.hpp"

namespace unisono::plan {

struct Profile {
  explicit Profile(const IterationProblem& problem);

  std::size_t count() const { return ready_s.size(); }
  std::int64_t bytes(std::size_t begin, std::size_t end) const { return sum[end] - sum[begin]; }
  bool may_share(std::size_t begin, std::size_t end) const { return first[end] <= begin; }

  std::vector<double> ready_s;          // never falls
  std::vector<std::int64_t> sum;        // of the bytes of the first so many tensors
  std::vector<std::size_t> first;       // where a bucket may begin that ends here; never falls
};

// Adds one bucket after the other and keeps when the channel is free.
class BucketRow {
 public:
  BucketRow(const IterationProblem& problem, const Profile& profile)
      : problem_(problem), profile_(profile) {}

  void add(std::size_t end);            // from where the last one ended; by the first method
  // The arrangement, of a forward pass that waits for all buckets.
  Arrangement take();

 private:
  const IterationProblem& problem_;
  const Profile& profile_;
  Arrangement made_;
};

// From finish[j], when the first j tensors have arrived at best, and the last bucket that is the
// best end of them: a walk back from the end.
struct LastBucket {
  std::size_t begin = 0, method = 0;
  double start_s = 0;
};
Arrangement walk_back(const IterationProblem& problem, const std::vector<double>& finish,
                      const std::vector<LastBucket>& last);

// Fills in the end of a forward pass that begins when all has arrived.
void wait_for_all(const IterationProblem& problem, Arrangement& arrangement);

}  // namespace unisono::plan
