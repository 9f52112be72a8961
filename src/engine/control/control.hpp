// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What engines say to each other on the control lane: an ordering message of one process set, or
// news about the job. Documented in docs/WIRE_FORMAT.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/data/bytes.hpp"
#include "model/request.hpp"
#include "observe/straggler.hpp"
#include "unisono/status.hpp"

namespace unisono::engine {

enum class ControlKind : std::uint8_t {
  order = 1,          // a process set's Order speaks to its counterpart
  abort = 2,          // the job has failed; the Status says why and whose fault it is
  leave_request = 3,  // to a set's coordinator: I want to leave, answer nothing more that needs me
  leave_granted = 4,  // from it: how many negotiated responses you must take part in
  waits = 5,          // to rank 0: how long this rank waited for the others of late
  verdict = 6,        // from rank 0: whom the others wait for
  departs = 7,        // to everybody, right before the goodbye: what the leaver leaves behind
  part = 8,           // a piece of a control message that is too long for the lane
  left = 9,           // to everybody, before the program hears of a failure: whose leave caused it
  routed = 10,        // one of the others, on its way through ranks in between
  bundle = 11,        // several that are routed
  routes_around = 12, // to a rank that departs: nothing more comes that it would have to pass on
};

// What a rank says when it leaves.
struct Departure {
  std::vector<Rank> before;  // who was known to leave when it decided to, first one first
  std::vector<SetId> unfinished;        // sets with a bucket in flight that it will not finish
  std::vector<std::uint64_t> persistents;  // identities of those it knows
  std::vector<std::uint64_t> runs;         // parallel: how many runs of each it has taken part in
};

// Where a routed message comes from and goes to.
struct Route {
  static constexpr Rank kEverybody = -1;
  Rank origin = 0, to = kEverybody;
  std::uint32_t number = 0;  // counts what the origin has sent to that rank, or told everybody
};

struct Control {
  ControlKind kind = ControlKind::order;
  SetId set = 0;
  Status status;                        // abort
  std::uint64_t responses = 0;          // leave_granted
  observe::RankWait wait;               // waits
  observe::SlowRank slow;               // verdict
  Departure departure;                  // departs
  std::vector<Rank> leavers;            // left; first one first
  Route route;                          // routed
  std::span<const std::byte> body;      // order, part, routed; points into the received message
  std::vector<std::span<const std::byte>> bundle;  // likewise
  bool last = false;                    // part: this one completes the message
};

std::vector<std::byte> encode_order(SetId set, std::span<const std::byte> body);
std::vector<std::byte> encode_abort(const Status& status);
std::vector<std::byte> encode_leave(ControlKind kind, SetId set, std::uint64_t responses = 0);
std::vector<std::byte> encode_wait(const observe::RankWait& wait);
std::vector<std::byte> encode_part(std::span<const std::byte> body, bool last);
std::vector<std::byte> encode_verdict(const observe::SlowRank& slow);
std::vector<std::byte> encode_departure(const Departure& departure);
std::vector<std::byte> encode_left(const std::vector<Rank>& leavers);
std::vector<std::byte> encode_routed(const Route& route, std::span<const std::byte> body);
// Whether it is one that carries others.
bool is_wrapped(std::span<const std::byte> message);
std::vector<std::byte> encode_routes_around();
std::vector<std::byte> encode_bundle(const std::vector<std::vector<std::byte>>& messages);
Result<Control> decode_control(std::span<const std::byte> message);

}  // namespace unisono::engine
