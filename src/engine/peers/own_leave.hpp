// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How far this rank has come with leaving the job in good order. It asks the coordinator of every
// set; each answers how many responses still need it. With all of them done it says goodbye. It
// does not wait longer than a limit. Pure. Thread: the engine's driver.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "model/request.hpp"

namespace unisono::engine {

class OwnLeave {
 public:
  // How long the others have to take note before this rank goes regardless.
  static constexpr Nanos kLimit = std::chrono::seconds(2);

  // `before`: those known to leave already, the first one first.
  void begin(Time now, std::vector<Rank> before) {
    limit_ = now + kLimit;
    before_ = std::move(before);
  }
  bool begun() const { return limit_ != kNever; }
  Time limit() const { return limit_; }
  const std::vector<Rank>& before() const { return before_; }

  void ask(SetId set) { asked_[set] = std::nullopt; }
  // Asked and not answered.
  bool waits_for(SetId set) const {
    const auto asked = asked_.find(set);
    return asked != asked_.end() && !asked->second;
  }
  void grant(SetId set, std::uint64_t responses) { asked_[set] = responses; }
  // Whether nothing of the set needs this rank any more that has not been negotiated here.
  bool granted(SetId set, std::uint64_t negotiated) const {
    const auto asked = asked_.find(set);
    return asked == asked_.end() || (asked->second && negotiated >= *asked->second);
  }

  void say_goodbye() { said_goodbye_ = true; }
  bool said_goodbye() const { return said_goodbye_; }

 private:
  Time limit_ = kNever;
  std::vector<Rank> before_;
  std::map<SetId, std::optional<std::uint64_t>> asked_;  // the responses to take part in first
  bool said_goodbye_ = false;
};

}  // namespace unisono::engine
