// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// One call of a program that makes the same calls on every member, in the same order: a tensor, or
// a whole group. A call is known by its position; names that were made up for the caller count for
// nothing. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "model/members.hpp"
#include "model/response.hpp"

namespace unisono::order {

struct Call {
  std::vector<Request> requests;        // at least one; more are a group
  Time since;                           // when it was submitted

  const Request& first() const { return requests.front(); }
};

// Whether the caller gave the name; the others count the calls of a rank.
bool is_named(std::string_view name);
// Whether members can run the call without having asked each other: it moves data, each of them
// could, and one collective carries it.
bool runs_unasked(const Call& call, const Members& members);
// What members must have in common at this position, as one number; never 0. Rows that may differ
// and the element counts of sparse tensors are no part of it.
std::uint64_t hash_of(const Call& call, std::uint64_t position);
// The response of a member that nobody has asked: it runs the call, or aborts the position where it
// has none to run.
Response unasked(const Call* call, SetId set, std::uint64_t position);
// For people: allreduce "grad" of float32 [3, 4], sum.
std::string describe(const Call& call);
// The name under which members meet at a position, whatever they call there.
std::string meeting_name(std::uint64_t position);
// The requests of the call under the names of the position. A join keeps its own: it is about all
// positions to come.
std::vector<Request> at_meeting(const Call& call, std::uint64_t position);

}  // namespace unisono::order
