// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Notices units that wait too long and says who holds them up.
// Reports after the warning time, then each time after twice as long; gives up at the limit.
// Thread: the owner's. deadline() may be early, never late.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "model/members.hpp"
#include "order/order.hpp"
#include "order/agree/readiness.hpp"

namespace unisono::order {

class StallWatch {
 public:
  // `members` outlives this.
  StallWatch(const OrderSettings& settings, const Members& members);

  // The member submitted something; `name` is the last thing in its message.
  void heard_from(int member, std::string_view name, Time at);
  // Asks for an inquiry halfway to each report, since not all that is late is seen here.
  void inquire_first() { inquires_ = true; }
  // The unit's first request came, or one that is older.
  void started(Unit& unit);
  // Appends due reports and the names of tensors due for an inquiry; returns the units past the
  // limit with what they fail with.
  std::vector<std::pair<Unit*, Status>> check(Readiness& readiness, const JoinState& joins,
                                              Time now, std::vector<Stall>& reports,
                                              std::vector<std::string>& inquiries);
  Time deadline() const { return next_check_; }
  void nothing_waits() { next_check_ = kNever; }

 private:
  struct LastHeard {
    std::string name;
    Time at;
  };
  Stall describe(const Unit& unit, const JoinState& joins, Time now) const;
  std::string excuse(int member, Time now) const;
  Time due(const Unit& unit) const;

  OrderSettings settings_;
  const Members& members_;
  std::vector<LastHeard> last_heard_;
  bool inquires_ = false;
  Time next_check_ = kNever;
};

}  // namespace unisono::order
