// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The slots of the known plans on one member: which of their tensors are submitted, which bucket
// comes next, and what has been given out and not ended.
//
// No tensor is in two plans. An iteration goes through one plan from its first bucket to its last;
// the next one follows the plan whose tensor has waited longest, so that with several plans nobody
// knows what comes next until something of it is submitted.
// Positions count buckets since the plans are followed and never wrap. What fills a slot is the
// plan's operation, so only its turn, its place in the order of submission, is kept. A tensor given
// out may fill its slot again: that is for the next iteration.
// Thread: the owner's.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "order/topo/plan.hpp"

namespace unisono::order {

using Plans = std::vector<std::shared_ptr<const TopoPlan>>;

class PlanSlots {
 public:
  // At least one plan. `me` is this member's index.
  PlanSlots(const Plans& plans, int me);

  // Remembers from now on when slots were filled; before the first is.
  void keep_times();

  struct Place {
    std::size_t plan, bucket;
  };

  std::size_t plans() const { return shelves_.size(); }
  const TopoPlan& plan(std::size_t index) const { return *shelves_[index].plan; }
  // False when no plan has the request, or its slot is taken.
  bool fill(const Request& request, std::uint64_t turn, Time now);
  // Where the next bucket stands; nothing when it depends on what is submitted next.
  std::optional<Place> next_place() const;
  // The first that the next bucket lacks; null when nobody knows which comes next, or none.
  const Request* first_missing() const;
  bool next_full() const;
  std::size_t filled() const { return filled_; }
  std::uint64_t next() const { return next_; }
  // Gives out the next bucket with what is there; some bucket, when nobody knows which.
  Place give_out();
  // When what was given out last was submitted, by slot of the plan. After the last bucket of an
  // iteration that is all of that iteration. Only after keep_times().
  std::span<const Time> submitted(std::size_t plan) const { return shelves_[plan].given_at; }
  bool next_is_last() const;
  bool between_iterations() const { return bucket_ == 0; }
  // Positions given out and not ended.
  std::size_t unended() const { return given_.size(); }
  std::uint64_t oldest() const { return next_ - given_.size(); }
  // The places from a position given out on that a member may have begun when it ends: those of one
  // iteration where there is one plan, else the rest of its iteration, and none after a choice.
  std::vector<Place> reach(std::uint64_t position) const;
  void oldest_ended();
  // What has ended, alike on all members: iterations of all plans and of one, when one last did
  // among them, and the last bucket.
  std::uint64_t iterations() const { return iterations_; }
  std::uint64_t iterations(std::size_t plan) const { return shelves_[plan].iterations; }
  std::uint64_t last_iteration(std::size_t plan) const { return shelves_[plan].last_iteration; }
  std::optional<Place> last_ended() const { return last_ended_; }
  // Everything submitted and not ended, by turn. Nothing may follow.
  std::vector<std::pair<std::uint64_t, Request>> drain();
  // The same without what has been given out.
  std::vector<std::pair<std::uint64_t, Request>> drain_unanswered();

 private:
  using Turns = std::vector<std::uint64_t>;  // by slot; 0 = empty
  struct Shelf {                        // what one plan needs
    std::shared_ptr<const TopoPlan> plan;
    Turns turns;
    std::vector<Time> filled_at, given_at;  // by slot; empty where nobody asks
    std::vector<std::uint32_t> missing;  // by bucket
    std::uint64_t first_turn = 0;       // the least of those filled between iterations; 0 = none
    std::uint64_t iterations = 0, last_iteration = 0;
  };
  struct Given {
    Place place;
    Turns turns;
  };
  void collect(Place place, const std::uint64_t* turns,
               std::vector<std::pair<std::uint64_t, Request>>& out) const;

  std::vector<Shelf> shelves_;
  int me_;
  std::size_t current_ = 0;             // the plan of the iteration under way
  std::size_t bucket_ = 0;              // of it, next; 0: between iterations
  std::size_t filled_ = 0;
  std::uint64_t next_ = 0, iterations_ = 0;
  std::deque<Given> given_;
  std::optional<Place> last_ended_;
};

}  // namespace unisono::order
