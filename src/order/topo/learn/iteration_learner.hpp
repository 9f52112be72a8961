// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Watches the common sequence of responses until the same iteration came often enough, and notes
// what the program here had seen done before it submitted each tensor.
//
// An iteration is a run of responses without a repeated name, and without one of a plan that is
// known already, so it begins and ends at the same response on every member. A few different ones
// are remembered at a time, so that those that take turns are all learned.
// Only what the program saw, and when, is this member's own knowledge.
// Unit A may be needed for unit B when in every iteration watched the program of some member saw A
// done before it submitted B: a program cannot wait for what it does not look at.
// Thread: the owner's.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/clock.hpp"
#include "model/response.hpp"
#include "order/topo/learn/iteration_units.hpp"
#include "order/topo/learn/submitted_moments.hpp"
#include "order/topo/learn/lesson.hpp"
#include "order/topo/plan.hpp"

namespace unisono::order {

// Beyond this many units nothing is planned: arranging them takes the square of their number.
inline constexpr std::size_t kTopoUnitsMax = 4096;

class IterationLearner {
 public:
  // Requests are kept only where the plan is made. The pool may be null; it outlives this.
  IterationLearner(int iterations_kept, bool keeps_requests, IterationUnitsPool* pool = nullptr)
      : kept_(static_cast<std::size_t>(iterations_kept)), keeps_requests_(keeps_requests),
        pool_(pool) {}

  // Forgets the iterations, at the same response everywhere.
  void restart();
  // Forgets those that share a tensor with the plan.
  void forget(const TopoPlan& plan);
  // Forgets the one under way; the next response begins another.
  void interrupt() { current_ = {}; }
  // Inputs that only this member sees, in the order in which they happened.
  void submitted(const Request& request, Time now) {
    submitted_at_.put(name_hash(request), {seen_, now});
  }
  void observed(std::uint64_t sequence);
  // Input that all members see alike: a response that no known plan holds. Returns how many
  // iterations equal to it have been closed, when this response closes one; 0 when it does not.
  int answered(const Response& response);
  // The same for a response that a known plan holds.
  int answered_by_plan(const Response& response) {
    unwatched(response);
    return current_.size() == 0 ? 0 : close();
  }
  // The same for a response of a time in which nobody tells what the program sees.
  int unwatched(const Response& response) {
    for (const Request& tensor : response.tensors) submitted_at_.take(name_hash(tensor));
    return 0;
  }

  // What was seen of the last of the iterations equal to the one that was closed last.
  Lesson lesson(std::uint64_t attempt) const;
  // By iteration: the position of each unit among the responses.
  std::vector<std::vector<std::uint32_t>> positions() const;
  // Why there are not yet so many equal iterations, for people.
  std::string why_not(int wanted) const;
  const std::vector<TopoUnit>& units() const { return last().requests; }
  // Of every member, by name, where they may differ.
  using Rows = std::unordered_map<std::string, std::vector<std::int64_t>>;
  const Rows& rows() const { return last().extents; }

 private:
  static_assert(kTopoUnitsMax <= UINT16_MAX);
  // The iteration under way. As long as it repeats one that is remembered, its units are those.
  struct Iteration {
    bool pure = true;                   // nothing but what can be planned
    std::string odd;                    // the first that cannot, or that the one before had not
    std::unordered_set<std::uint64_t> further;  // names of tensors that no unit is called by
    std::shared_ptr<const IterationUnits> known;
    std::vector<std::uint16_t> unit_of, position_of;  // of the known ones; kNowhere: not yet
    IterationUnits own;                 // by position, where it repeats none
    std::uint64_t begun_at = 0;         // moment; the others count from here
    // By position. Moments count observations: A was seen before B was submitted when A's is less
    // than B's.
    std::vector<std::uint32_t> seen_at, submitted_at;
    std::vector<std::uint64_t> sequences;
    std::vector<Time> ready_at;
    std::vector<TopoUnit> requests;
    Rows extents;

    std::size_t size() const { return sequences.size(); }
    bool holds(std::uint64_t name) const;
    // Whether all units of a known one came.
    bool repeats_all() const { return known != nullptr && size() == known->size(); }
    // What it did not repeat to the end, it has as its own.
    void make_own();
  };
  struct Row {                          // an iteration, by unit
    std::vector<std::uint16_t> positions;
    // Empty when nothing was seen before all was submitted.
    std::vector<std::uint32_t> seen_at, submitted_at;
    std::vector<std::uint64_t> ready_ns;
    std::uint32_t first_seen_at;

    bool free(std::size_t unit) const {
      return submitted_at.empty() || first_seen_at >= submitted_at[unit];
    }
  };
  struct Pattern {                      // iterations that are equal
    std::shared_ptr<const IterationUnits> units;  // of the first of them
    std::vector<TopoUnit> requests;
    Rows extents;
    std::deque<Row> rows;               // of the last of them
    int equal = 0;
    std::uint64_t closed_at = 0;        // when the last one was, counted in iterations
  };
  static constexpr std::uint16_t kNowhere = UINT16_MAX;
  static std::uint64_t name_hash(const Request& request);
  static bool repeats(const IterationUnits& first, const IterationUnits& again);
  void add(std::uint64_t name, std::uint64_t signature);
  std::string why_odd(const Request& first, std::uint64_t name, std::uint64_t signature) const;
  bool has_some_of(const Response& response) const;
  int close();
  Pattern& pattern_of(Iteration& done);
  Row row_of(const Iteration& done, const IterationUnits& units) const;
  const Pattern& last() const { return patterns_[last_]; }
  SubmittedMoments::Moment take_submitted(const Response& response);
  std::uint64_t median_ready_ns(std::size_t unit) const;
  std::vector<std::uint32_t> needs(std::size_t unit) const;

  static constexpr std::size_t kPatternsMax = 8;
  std::size_t kept_;
  bool keeps_requests_;
  IterationUnitsPool* pool_;
  SubmittedMoments submitted_at_;       // of what is unanswered
  std::uint64_t seen_ = 0;              // observations so far
  Iteration current_;
  std::vector<Pattern> patterns_ = std::vector<Pattern>(1);
  std::size_t last_ = 0;                // the one whose iteration was closed last
  std::uint64_t closed_ = 0;            // iterations
  std::string odd_;                     // what kept the last iteration from being equal
};

}  // namespace unisono::order
