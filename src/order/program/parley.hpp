// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the first member does when calls at one position cannot simply run: it hears what each
// member calls there, and says what becomes of it, to all alike. Lives for one position.
// Knows nothing of messages. Thread: the owner's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "order/agree/tally.hpp"
#include "order/program/call.hpp"

namespace unisono::order {

class Parley {
 public:
  // `members` outlives this.
  Parley(const Members& members, const OrderSettings& settings, std::uint64_t position);

  std::uint64_t position() const { return position_; }
  // The member calls this; once for each member.
  Status called(int member, Call call);
  // The member calls nothing here yet; the last it called was that, then.
  void idle(int member, std::string_view last, Time at) { tally_.heard_from(member, last, at); }
  void leave(Rank rank) { tally_.leave(rank); }
  bool anyone_left() const { return tally_.anyone_left(); }
  // What becomes of the position, once that is known. Names are those of the meeting.
  std::optional<Response> outcome(Time now, std::vector<Stall>& stalls);
  Time deadline() const { return tally_.deadline(); }

 private:
  Status compare_names() const;
  Status name_calls(const Status& error) const;
  std::string readable(std::string text) const;

  const Members& members_;
  const std::uint64_t position_;
  const SetId set_;
  Tally tally_;
  std::vector<std::optional<Call>> calls_;  // by member
};

// Puts `instead` wherever the text has `what`.
std::string replaced(std::string text, std::string_view what, std::string_view instead);

}  // namespace unisono::order
