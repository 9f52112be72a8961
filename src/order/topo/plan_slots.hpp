// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The slots of a plan on one member: which of its tensors are submitted, which bucket comes next,
// and what has been given out and not ended.
//
// Positions count buckets since the plan began and never wrap. What fills a slot is the plan's
// operation, so only its turn, its place in the order of submission, is kept. A tensor given out
// may fill its slot again: that is for the next iteration.
// Thread: the owner's.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "order/topo/plan.hpp"

namespace unisono::order {

class PlanSlots {
 public:
  explicit PlanSlots(std::shared_ptr<const TopoPlan> plan);

  const TopoPlan& plan() const { return *plan_; }
  // False when the request is not the plan's, or its slot is taken.
  bool fill(const Request& request, std::uint64_t turn, Time now);
  // The first that the next bucket lacks; it lacks one.
  const Request& first_missing() const;
  bool next_full() const { return missing_[next_ % missing_.size()] == 0; }
  std::size_t filled() const { return filled_; }
  std::uint64_t next() const { return next_; }
  // Gives out the next bucket with what is there; returns its tensors as planned.
  const std::vector<Request>& give_out();
  // When what was given out last was submitted, by slot. After the last bucket of an iteration that
  // is all of that iteration.
  std::span<const Time> submitted() const { return given_at_; }
  bool next_is_last() const { return (next_ + 1) % missing_.size() == 0; }
  bool between_iterations() const { return next_ % missing_.size() == 0; }
  // Positions given out and not ended.
  std::size_t unended() const { return given_.size(); }
  std::uint64_t oldest() const { return next_ - given_.size(); }
  void oldest_ended() { given_.pop_front(); }
  // Everything submitted and not ended, by turn. Nothing may follow.
  std::vector<std::pair<std::uint64_t, Request>> drain();
  // The same without what has been given out.
  std::vector<std::pair<std::uint64_t, Request>> drain_unanswered();

 private:
  using Turns = std::vector<std::uint64_t>;  // by slot; 0 = empty
  void collect(std::size_t bucket, const std::uint64_t* turns,
               std::vector<std::pair<std::uint64_t, Request>>& out) const;

  std::shared_ptr<const TopoPlan> plan_;
  Turns turns_;
  std::vector<Time> filled_at_, given_at_;  // by slot
  std::vector<std::uint32_t> missing_;  // by bucket
  std::size_t filled_ = 0;
  std::uint64_t next_ = 0;
  std::deque<Turns> given_;
};

}  // namespace unisono::order
