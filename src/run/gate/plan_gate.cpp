// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/gate/plan_gate.hpp"

#include <algorithm>

namespace unisono::run {
namespace {

bool chooses(const Bucket& bucket) { return bucket.responses.front().choice != 0; }

// Decisions give out ids, so all of them share one channel.
std::size_t channel_of(const Bucket& bucket, std::size_t channels) {
  const Response& first = bucket.responses.front();
  if (first.planned) return chooses(bucket) ? 0 : first.method.channel;
  const Request& tensor = first.tensors.front();
  if (!traits_of(tensor.kind).moves) return 0;
  return (tensor.team > 0 ? tensor.team - 1 : bucket.id) % channels;
}

bool undecided(const Channel& channel) {
  return chooses(channel.next()) && (channel.run == nullptr || channel.run->is_ballot());
}

}  // namespace

void PlanGate::enqueue(Bucket bucket, const Channels& channels) {
  const bool planned = bucket.responses.front().planned;
  stage_ += chooses(bucket) ? 1 : 0;
  bucket.epoch = epoch_;
  bucket.stage = stage_;
  Channel& channel = *channels[channel_of(bucket, channels.size())];
  const bool over = channel.closed == epoch_ || (closed_epoch_ == epoch_ && stage_ > closed_stage_);
  if (!planned || !over) channel.queue.push_back(std::move(bucket));
}

bool PlanGate::may_begin(const Channel& channel, const Channels& channels) {
  const std::uint64_t stage = channel.queue.front().stage;
  return std::all_of(channels.begin(), channels.end(), [&](const auto& other) {
    if (other.get() == &channel || other->drained()) return true;
    const std::uint64_t held = other->next().stage;
    return held > stage || (held == stage && !undecided(*other));
  });
}

bool PlanGate::behind(const Channels& channels) const {
  return std::any_of(channels.begin(), channels.end(), [&](const auto& channel) {
    return !channel->drained() && channel->next().epoch < epoch_;
  });
}

void PlanGate::close(Channel& channel, const Bucket& last, const Channels& channels) {
  channel.closed = closed_epoch_ = last.epoch;
  closed_stage_ = last.stage;
  for (const auto& each : channels) {
    std::erase_if(each->queue, [&](const Bucket& bucket) {
      return bucket.responses.front().planned && bucket.epoch == last.epoch &&
             (each.get() == &channel || bucket.stage > last.stage);
    });
  }
}

Channel* PlanGate::chosen(const Bucket& bucket, PlanVote vote, const Channels& channels) {
  if (vote != PlanVote::run) {
    for (const auto& channel : channels) close(*channel, bucket, channels);
  }
  if (vote == PlanVote::abort) return nullptr;
  return channels[bucket.responses.front().method.channel].get();
}

}  // namespace unisono::run
