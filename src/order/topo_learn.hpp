// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Watches the common sequence of responses until the same iteration came often enough, and notes
// what had ended here before each tensor was submitted here.
//
// An iteration is a run of responses without a repeated name, so it begins and ends at the same
// response on every member. Only what had ended when a tensor was submitted is this member's own
// knowledge; responses end in order, so one number per tensor says it: how many units of the
// iteration had ended. Unit A may be needed for unit B when, in every iteration, some member's
// number for B exceeds A's place. Taking the larger number is therefore all there is to merging.
// Thread: the owner's.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/response.hpp"
#include "order/topo_plan.hpp"

namespace unisono {

// Beyond this many units nothing is planned: arranging them takes the square of their number.
inline constexpr std::size_t kTopoUnitsMost = 4096;

// What one member knows of the iterations watched, or many merged. Units count in the order of the
// first of the equal iterations.
struct Lesson {
  std::uint64_t attempt = 0;
  std::uint64_t digest = 0;             // of units and places: equal on all members
  std::vector<std::vector<std::uint32_t>> ended_before;  // by iteration, by unit

  // False when they are not about the same iterations.
  bool merge(const Lesson& other);
  void encode(ByteWriter& out) const;
  static Lesson decode(ByteReader& in);  // check in.finished() afterwards
};

class TopoLearn {
 public:
  // Requests are kept only where the plan is made.
  TopoLearn(int iterations_kept, bool keeps_requests)
      : kept_(static_cast<std::size_t>(iterations_kept)), keeps_requests_(keeps_requests) {}

  // Forgets the iterations, at the same response everywhere.
  void restart();
  // Inputs that only this member sees.
  void submitted(const Request& request);
  void ended(std::uint64_t sequence) { ended_ = sequence + 1; }
  void taken_back(std::uint64_t sequence) { ended_ = sequence; }
  // Inputs that all members see alike. Gives how many equal iterations in a row have been closed,
  // when this response closes one; 0 when it does not.
  int answered(const Response& response);

  // What was seen of the last of the equal iterations.
  Lesson lesson(std::uint64_t attempt) const;
  // By iteration: the place of each unit among the responses.
  std::vector<std::vector<std::uint32_t>> places() const;
  const std::vector<TopoUnit>& units() const { return first_.units; }

 private:
  struct Iteration {
    bool pure = true;                   // nothing but what can be planned
    std::unordered_map<std::uint64_t, std::uint32_t> place;  // by the unit's name
    std::vector<std::uint64_t> names, signatures, sequences;
    std::vector<std::uint32_t> ended_before;
    std::vector<TopoUnit> units;
  };
  struct Row {                          // an iteration, by unit
    std::vector<std::uint32_t> places, ended_before;
  };
  bool repeats_first() const;
  int close();
  std::uint32_t ended_before(const Response& response);

  std::size_t kept_;
  bool keeps_requests_;
  std::unordered_map<std::uint64_t, std::uint64_t> submitted_at_;  // name: first not ended then
  std::uint64_t ended_ = 0;             // the first sequence that has not ended here
  Iteration current_;
  Iteration first_;                     // of the equal ones
  std::deque<Row> rows_;                // the last of the equal ones
  int equal_ = 0;
};

}  // namespace unisono
