// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/network/data_plane.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/data/text.hpp"

namespace unisono::sim {

Result<int> DataPlane::give_out(std::span<const Response> responses, std::int64_t now) {
  int buckets = 0;
  while (!responses.empty()) {
    std::size_t count = 1;
    if (!responses.front().planned) {
      while (count < responses.size() && !responses[count].planned) ++count;
    }
    auto given = give_out_round(responses.first(count), now);
    if (!given.ok()) return given.status();
    buckets += given.value();
    responses = responses.subspan(count);
  }
  return buckets;
}

Result<int> DataPlane::give_out_round(std::span<const Response> responses, std::int64_t now) {
  const std::uint64_t key = responses.front().sequence;
  auto it = rounds_.find(key);
  if (it == rounds_.end()) it = rounds_.emplace(key, plan(responses)).first;
  Round& round = it->second;
  if (round.responses != responses.size()) {
    return Status(Code::internal,
                  cat("ranks gave out different rounds from response ", key, " on: ",
                      round.responses, " and ", responses.size(), " responses"));
  }
  const int buckets = round.buckets;
  for (int i = 0; i < buckets; ++i) {
    FlyingBucket& bucket = flying_[round.first_bucket - first_ + static_cast<std::size_t>(i)];
    bucket.vote = std::max(bucket.vote, responses.front().vote);
    if (++bucket.arrived == ranks_) bucket.full_ns = now;
  }
  if (++round.ranks == ranks_) rounds_.erase(it);
  return buckets;
}

DataPlane::Round DataPlane::plan(std::span<const Response> responses) {
  Round round{responses.size(), first_ + flying_.size(), 0};
  Plan plan;
  if (responses.front().planned) {
    plan.buckets.emplace_back();
    plan.buckets.back().responses = {responses.front()};
  } else {
    plan = planner_.plan({responses.begin(), responses.end()}, round.first_bucket);
  }
  for (const Bucket& bucket : plan.buckets) {
    FlyingBucket& flying = flying_.emplace_back();
    for (const Response& response : bucket.responses) {
      flying.sequences.push_back(response.sequence);
      flying.tensors += static_cast<int>(response.tensors.size());
      for (const Request& tensor : response.tensors) {
        flying.bytes += static_cast<std::int64_t>(tensor.bytes());
      }
    }
    flying.cost = encoded_cost(network_, codec_of(bucket), flying.bytes, priced_, ranks_per_host_);
    flying.copies_ns = static_cast<std::int64_t>(1e3 * network_.tensor_us * flying.tensors);
  }
  round.buckets = static_cast<int>(plan.buckets.size());
  return round;
}

const FlyingBucket* DataPlane::start(std::int64_t now) {
  if (running_ || flying_.empty() || flying_.front().arrived < ranks_) return nullptr;
  FlyingBucket& next = flying_.front();
  // A bucket that some rank did not fill is aborted after its header has been exchanged.
  const double us = next.vote == PlanVote::abort ? next.cost.latency_us : next.cost.total_us();
  next.start_ns = now;
  next.end_ns = now + static_cast<std::int64_t>(us * 1e3) + next.copies_ns;
  running_ = true;
  return &next;
}

FlyingBucket DataPlane::finish() {
  UNISONO_CHECK(running_);
  FlyingBucket done = std::move(flying_.front());
  flying_.pop_front();
  ++first_;
  running_ = false;
  last_end_ns_ = done.end_ns;
  if (done.vote == PlanVote::abort) {
    flying_.clear();
    rounds_.clear();
  }
  return done;
}

}  // namespace unisono::sim
