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
#include "order/answer.hpp"
#include "order/join_state.hpp"
#include "order/messages.hpp"
#include "order/order.hpp"
#include "order/readiness.hpp"
#include "order/stall_watch.hpp"

namespace unisono {

class Tally {
 public:
  // `members` outlives this.
  Tally(const Members& members, const OrderSettings& settings);

  // Groups in `requests` are whole and contiguous. An error blames the member; what came before
  // the offending request has been counted.
  Status add(int member, std::vector<Request> requests, Time now);
  // The same from a message.
  Status add(int member, const RequestSlices& requests, Time now);
  // From now on everything fails: no operation of the set can do without the member.
  void leave(Rank rank);
  // What is ready now, higher priority first, then in the order in which it became ready.
  std::vector<Answer> next_round(Time now, std::vector<Stall>& stalls);
  Time deadline() const;

 private:
  struct Decision {
    std::int32_t priority;
    Answer answer;
  };
  Status add_parcel(int member, std::span<Request> parcel, Time now);
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

}  // namespace unisono
