// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The data plane: buckets of the real planner run one after another and take the time that the best
// algorithm for them takes (collective_cost.hpp). A bucket starts when every rank has given it out
// and the previous one has ended.
// Different rounds on two ranks are a fault of the order, and the error names the round.
// Thread: the simulation's.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "plan/planner.hpp"
#include "sim/network/collective_cost.hpp"
#include "unisono/status.hpp"

namespace unisono::sim {

struct FlyingBucket {
  std::vector<std::uint64_t> sequences; // of its responses
  std::int64_t bytes = 0;
  int tensors = 0;
  int arrived = 0;                      // ranks that gave it out
  PlanVote vote = PlanVote::run;      // the strongest
  MoveCost cost;
  std::int64_t copies_ns = 0;           // the host starts copies; nothing moves meanwhile
  std::int64_t full_ns = 0;             // when the last rank gave it out
  std::int64_t start_ns = 0, end_ns = 0;
};

class DataPlane {
 public:
  // Buckets start when `ranks` have given them out and cost what they cost among `priced`.
  DataPlane(const Network& network, int ranks, int priced, int ranks_per_host,
            const plan::Planner& planner)
      : network_(network), ranks_(ranks), priced_(priced), ranks_per_host_(ranks_per_host),
        planner_(planner) {}

  // A rank's order gave out these responses in one call. Returns how many buckets they make. A
  // planned response is a bucket by itself; the others are one round, which is planned once for all
  // ranks, since the planner is pure and every rank would get the same plan.
  Result<int> give_out(std::span<const Response> responses, std::int64_t now);
  // Starts the next bucket when it may start now: sets its end_ns and returns it; null otherwise.
  const FlyingBucket* start(std::int64_t now);
  // The running bucket takes so much longer; returns its end.
  std::int64_t prolong(std::int64_t longer_ns) { return flying_.front().end_ns += longer_ns; }
  // The running bucket has ended. If it was aborted, those planned behind it were never given out.
  FlyingBucket finish();
  // Whether some ranks gave out a bucket that others did not.
  bool waits() const { return !flying_.empty() && flying_.front().arrived < ranks_; }
  std::uint64_t ended() const { return first_; }
  std::int64_t last_end_ns() const { return last_end_ns_; }

 private:
  struct Round {
    std::size_t responses;
    std::uint64_t first_bucket;
    int buckets;
    int ranks = 0;                      // that gave it out
  };
  Result<int> give_out_round(std::span<const Response> responses, std::int64_t now);
  Round plan(std::span<const Response> responses);

  const Network& network_;
  const int ranks_, priced_, ranks_per_host_;
  const plan::Planner& planner_;
  std::map<std::uint64_t, Round> rounds_;  // by first sequence; dropped when all gave them out
  std::deque<FlyingBucket> flying_;
  std::uint64_t first_ = 0;             // index of flying_.front(): buckets ended so far
  bool running_ = false;
  std::int64_t last_end_ns_ = 0;
};

}  // namespace unisono::sim
