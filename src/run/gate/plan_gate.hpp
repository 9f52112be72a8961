// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Which buckets of a set may begin, where plans travel through several channels.
//
// A bucket belongs to an epoch, which grows when a plan has ended, and to a stage, which grows then
// and with every iteration that members choose a plan for. It begins once no channel holds anything
// of an earlier stage:
// - What was negotiated after a plan may be the tensors that a bucket of the plan still holds.
// - When members choose, all before is through on all of them, since the ballot needs all. So what
//   ends a plan within an iteration concerns the channels that this iteration is in, and nobody is
//   in the next.
// What follows a choice in the other channels begins once the members have chosen the same. All
// choose in the first channel, as they may hold different buckets; what was chosen then goes
// through the channel that its plan names, which runs nothing just then.
// Nothing in an epoch or a stage waits for what follows it, and everything here is alike on all
// members, but when it happens. Thread: the engine's driver.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "run/channel.hpp"

namespace unisono::run {

using Channels = std::vector<std::unique_ptr<Channel>>;

class PlanGate {
 public:
  std::uint64_t epoch() const { return epoch_; }
  // A plan is over, and what follows is not of it.
  void next_epoch() {
    ++epoch_;
    ++stage_;
  }
  // Appends the bucket to its channel, unless it lies beyond the end of its plan.
  void enqueue(Bucket bucket, const Channels& channels);
  // Whether the first bucket in the queue of the channel, which runs nothing, may begin.
  static bool may_begin(const Channel& channel, const Channels& channels);
  // Whether a channel still holds something of an earlier epoch.
  bool behind(const Channels& channels) const;
  // Drops what was planned to follow a bucket of the channel: nobody begins it. Every other channel
  // that the iteration is in comes to a bucket that a member has aborted (order/topo/plans).
  void close(Channel& channel, const Bucket& last, const Channels& channels);
  // The members have voted on the iteration they begin. Returns the channel to go on in, or null
  // when they have not chosen the same.
  Channel* chosen(const Bucket& bucket, PlanVote vote, const Channels& channels);

 private:
  std::uint64_t epoch_ = 0, stage_ = 0;
  // Where the last plan ended: nothing of that epoch and a later stage is begun.
  std::uint64_t closed_epoch_ = UINT64_MAX, closed_stage_ = 0;
};

}  // namespace unisono::run
