// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Counts what all members submitted and decides rounds of Responses: the part of a strategy that
// runs where everything is seen. Knows nothing of messages.
// Thread: the owner's.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/members.hpp"
#include "model/response.hpp"
#include "order/agree/answer.hpp"
#include "order/agree/join_state.hpp"
#include "order/messages/messages.hpp"
#include "order/order.hpp"
#include "order/agree/readiness.hpp"
#include "order/agree/stall_watch.hpp"

namespace unisono::order {

class Tally {
 public:
  // `members` outlives this.
  Tally(const Members& members, const OrderSettings& settings);

  // Groups in `requests` are whole and contiguous. An error blames the member; what came before
  // the offending request has been counted.
  Status add(int member, std::vector<Request> requests, Time now);
  // The same from a message, by one member or, at a cost that does not grow with them, by many.
  Status add(Senders who, const RequestSlices& requests, Time at);
  // The last thing the member submitted, where it is not seen by add().
  void heard_from(int member, std::string_view name, Time at) {
    stalls_.heard_from(member, name, at);
  }
  // Members are not all seen directly: next_round() names what to ask after.
  void inquire_first() { stalls_.inquire_first(); }
  // From now on everything fails: no operation of the set can do without the member.
  void leave(Rank rank);
  // What the response cache answers, with its priority.
  struct Cached {
    std::int32_t priority;
    std::uint32_t position;
  };
  // What is ready now, higher priority first, then `cached` before the rest, which comes in the
  // order in which it became ready. `inquiries`: tensors whose stall report is halfway due.
  std::vector<Answer> next_round(Time now, std::vector<Stall>& stalls,
                                 const std::vector<Cached>& cached,
                                 std::vector<std::string>& inquiries);
  bool anyone_joined() const { return joins_.any(); }
  bool anyone_left() const { return left_.has_value(); }
  Time deadline() const;

 private:
  struct Decision {
    std::int32_t priority;
    Answer answer;
  };
  Status add_parcel(Senders who, std::span<Request> parcel, Time at);
  void watch(Unit& unit);
  void fail_all(std::vector<Decision>& round);

  const Members& members_;
  OrderSettings settings_;
  JoinState joins_;
  Readiness readiness_;
  StallWatch stalls_;
  std::optional<Rank> left_;            // the first that left
  std::uint64_t next_sequence_;
};

// What an operation fails with after `rank` left in good order.
Status peer_left_error(Rank rank, std::string_view tensor);
// When nobody is left to decide for all, each member ends what it has.
Response peer_left_response(Rank rank, Request request, SetId set, std::uint64_t sequence);

}  // namespace unisono::order
