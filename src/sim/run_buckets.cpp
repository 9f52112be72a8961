// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The part of a run that concerns buckets: they start, they end, and the orders are told.
#include "sim/run.hpp"

namespace unisono::sim {

void Run::start_bucket(std::int64_t now) {
  if (const FlyingBucket* next = channel_.start(now); next != nullptr) {
    if (settings_.ranks > settings_.host.ranks_per_host) wires_.data_begins();
    events_.push(next->end_ns, kBucket, 0, 0);
  }
}

void Run::bucket(std::int64_t now) {
  // Control messages went over the same adapters: the bucket takes longer by what the busiest one
  // gave them. Those that are sent while it makes up for that count no more.
  if (const std::int64_t longer = wires_.data_ends(); longer > 0) {
    events_.push(channel_.prolong(longer), kBucket, 0, 0);
    return;
  }
  const std::int64_t was_free = channel_.last_end_ns();
  const FlyingBucket done = channel_.finish();
  metrics_.bucket_done(done, was_free);
  const bool ran = done.vote != PlanVote::abort;
  if (ran) tensors_left_ -= done.tensors;
  if (computing_ == 0) metrics_.idle(done.copies_ns * settings_.ranks);
  if (plans_) tell_ended(done, now);
  start_bucket(now);
  if (tensors_left_ > 0) return;
  UNISONO_CHECK(tensors_left_ == 0);
  metrics_.end_step(now);
  set_window(now - moved_ns_);
  if (plans_) tell_observed();
  if (metrics_.steps() < warm_up_ + settings_.iterations) begin_step(now);
}

// Only orders that plan ahead need to know this.
void Run::tell_ended(const FlyingBucket& done, std::int64_t now) {
  for (int i = 0; i < settings_.ranks; ++i) {
    VirtualRank& r = ranks_[static_cast<std::size_t>(i)];
    if (!r.alive) continue;
    for (const std::uint64_t sequence : done.sequences) {
      r.order->ended(sequence, done.vote, Time{now});
    }
    if (done.vote == PlanVote::abort) r.given_out = channel_.ended();
    if (r.order->deadline() <= Time{now}) wake(i, now);
  }
  if (done.vote == PlanVote::abort) return;
  unseen_.insert(unseen_.end(), done.sequences.begin(), done.sequences.end());
}

// A program waits for its tensors at the end of a step and inspects none before that.
void Run::tell_observed() {
  for (VirtualRank& r : ranks_) {
    if (!r.alive || !r.order->watches()) continue;
    for (const std::uint64_t sequence : unseen_) r.order->observed(sequence);
  }
  unseen_.clear();
}

}  // namespace unisono::sim
