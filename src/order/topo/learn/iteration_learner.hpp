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
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/clock.hpp"
#include "model/response.hpp"
#include "order/topo/plan.hpp"

namespace unisono::order {

// Beyond this many units nothing is planned: arranging them takes the square of their number.
inline constexpr std::size_t kTopoUnitsMax = 4096;

// What one member knows of the iterations watched, or many merged. Units count in the order of the
// first of the equal iterations.
struct Lesson {
  std::uint64_t attempt = 0;
  std::uint64_t digest = 0;             // of units and positions: equal on all members
  // By unit: the runs of units it may need, as begin, end, begin, end, ... in order, none empty.
  std::vector<std::vector<std::uint32_t>> needs;
  // By unit: when it was submitted, in nanoseconds since the first of its iteration was. Of one
  // member the median of the iterations; of many, that of the last of them.
  std::vector<std::uint64_t> ready_ns;

  // Adds what the other needs, and waits for its tensors. Returns false when they are not about the same iterations.
  bool merge(const Lesson& other);
  // Whether unit `to` may need unit `from`.
  bool edge(std::size_t from, std::size_t to) const;
  // When there are too many runs to send, each unit keeps one, from its first to its last: what is
  // in between is then needed as well, as far as it comes earlier.
  void shorten();
  void encode(ByteWriter& out) const;
  static Lesson decode(ByteReader& in);  // check in.finished() afterwards
};

class IterationLearner {
 public:
  // Requests are kept only where the plan is made.
  IterationLearner(int iterations_kept, bool keeps_requests)
      : kept_(static_cast<std::size_t>(iterations_kept)), keeps_requests_(keeps_requests) {}

  // Forgets the iterations, at the same response everywhere.
  void restart();
  // Forgets those that share a tensor with the plan.
  void forget(const TopoPlan& plan);
  // Forgets the one under way; the next response begins another.
  void interrupt() { current_ = {}; }
  // Inputs that only this member sees, in the order in which they happened.
  void submitted(const Request& request, Time now) {
    submitted_at_[name_hash(request)] = {seen_, now};
  }
  void observed(std::uint64_t sequence);
  // Input that all members see alike: a response that no known plan holds. Returns how many
  // iterations equal to it have been closed, when this response closes one; 0 when it does not.
  int answered(const Response& response);
  // The same for a response that a known plan holds.
  int answered_by_plan(const Response& response) {
    unwatched(response);
    return current_.names.empty() ? 0 : close();
  }
  // The same for a response of a time in which nobody tells what the program sees.
  int unwatched(const Response& response) {
    for (const Request& tensor : response.tensors) submitted_at_.erase(name_hash(tensor));
    return 0;
  }

  // What was seen of the last of the iterations equal to the one that was closed last.
  Lesson lesson(std::uint64_t attempt) const;
  // By iteration: the position of each unit among the responses.
  std::vector<std::vector<std::uint32_t>> positions() const;
  // Why there are not yet so many equal iterations, for people.
  std::string why_not(int wanted) const;
  const std::vector<TopoUnit>& units() const { return last().first.units; }
  // Of every member, by name, where they may differ.
  using Rows = std::unordered_map<std::string, std::vector<std::int64_t>>;
  const Rows& rows() const { return last().first.rows; }

 private:
  struct Iteration {
    bool pure = true;                   // nothing but what can be planned
    std::string odd;                    // the first that cannot, or that the one before had not
    std::unordered_map<std::uint64_t, std::uint32_t> place;  // by the unit's name
    std::unordered_set<std::uint64_t> further;  // names of tensors that no unit is called by
    std::vector<std::uint64_t> names, signatures, sequences;
    // Moments count observations: A was seen before B was submitted when A's is less than B's.
    std::vector<std::uint64_t> seen_at, submitted_at;
    std::vector<Time> ready_at;
    std::vector<TopoUnit> units;
    std::unordered_map<std::string, std::vector<std::int64_t>> rows;
  };
  struct Row {                          // an iteration, by unit
    std::vector<std::uint32_t> positions;
    std::vector<std::uint64_t> seen_at, submitted_at, ready_ns;
    std::uint64_t first_seen_at;
  };
  struct Pattern {                      // iterations that are equal
    Iteration first;
    std::deque<Row> rows;               // of the last of them
    int equal = 0;
    std::uint64_t closed_at = 0;        // when the last one was, counted in iterations
  };
  static std::uint64_t name_hash(const Request& request);
  static bool repeats(const Iteration& first, const Iteration& again);
  bool has_some_of(const Response& response) const;
  int close();
  Pattern& pattern_of(Iteration& done);
  const Pattern& last() const { return patterns_[last_]; }
  struct Submitted {
    std::uint64_t moment = 0;
    Time at{};
  };
  Submitted take_submitted(const Response& response);
  std::uint64_t median_ready_ns(std::size_t unit) const;
  std::vector<std::uint32_t> needs(std::size_t unit) const;

  static constexpr std::size_t kPatternsMax = 8;
  std::size_t kept_;
  bool keeps_requests_;
  std::unordered_map<std::uint64_t, Submitted> submitted_at_;  // by name, unanswered
  std::uint64_t seen_ = 0;              // observations so far
  Iteration current_;
  std::vector<Pattern> patterns_ = std::vector<Pattern>(1);
  std::size_t last_ = 0;                // the one whose iteration was closed last
  std::uint64_t closed_ = 0;            // iterations
  std::string odd_;                     // what kept the last iteration from being equal
};

}  // namespace unisono::order
