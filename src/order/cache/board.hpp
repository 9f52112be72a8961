// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Which parts of an inner node's subtree have submitted which cached response: an AND reduction
// that is over, position by position, as soon as the last part has it.
// Thread: the owner's. deadline() may be early, never late.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "order/messages/member_bits.hpp"

namespace unisono::order {

class CacheBoard {
 public:
  // `patience`: how long a position waits for its last part; 0 = for ever.
  CacheBoard(int parts, Nanos patience) : parts_(parts), patience_(patience) {}

  enum class Added { waits, complete, repeated };
  Added add(int part, std::uint32_t position, Time now) {
    if (position >= rows_.size()) rows_.resize(position + 1, Row{MemberBits(parts_)});
    Row& row = rows_[position];
    if (row.parts.test(part)) return Added::repeated;
    if (row.parts.empty()) {
      row.since = now;
      ++waiting_;
      if (patience_ > Nanos(0)) next_check_ = std::min(next_check_, now + patience_);
    }
    row.parts.set(part);
    if (row.parts.count() < parts_) return Added::waits;
    reset(position);
    return Added::complete;
  }
  // The position was answered, or means something else.
  void reset(std::uint32_t position) {
    if (position >= rows_.size() || rows_[position].parts.empty()) return;
    rows_[position] = Row{MemberBits(parts_)};
    if (--waiting_ == 0) next_check_ = kNever;
  }
  // Positions that have waited too long, each once.
  std::vector<std::uint32_t> overdue(Time now) {
    std::vector<std::uint32_t> late;
    if (now < next_check_) return late;
    next_check_ = kNever;
    for (std::uint32_t i = 0; i < rows_.size(); ++i) {
      Row& row = rows_[i];
      if (row.parts.empty() || row.overdue) continue;
      row.overdue = now - row.since >= patience_;
      if (row.overdue) {
        late.push_back(i);
      } else {
        next_check_ = std::min(next_check_, row.since + patience_);
      }
    }
    return late;
  }
  Time deadline() const { return next_check_; }

 private:
  struct Row {
    MemberBits parts;
    Time since{};
    bool overdue = false;
  };
  int parts_;
  Nanos patience_;
  std::vector<Row> rows_;
  std::size_t waiting_ = 0;
  Time next_check_ = kNever;
};

}  // namespace unisono::order
