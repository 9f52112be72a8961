// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Who has joined: such a member counts as having submitted everything, until all have joined.
#pragma once

#include <vector>

#include "model/members.hpp"
#include "model/request.hpp"
#include "order/messages/member_bits.hpp"

namespace unisono::order {

class JoinState {
 public:
  explicit JoinState(int members) : members_(members), joined_(members) {}

  void add(int member, Request request);
  bool any() const { return joined_.count() > 0; }
  bool all() const { return joined_.count() == members_; }
  const MemberBits& joined() const { return joined_; }
  int last() const { return last_; }
  // One request per distinct name, so that every member finds its own in the answer.
  const std::vector<Request>& requests() const { return requests_; }
  void reset();

 private:
  int members_;
  MemberBits joined_;
  int last_ = -1;
  std::vector<Request> requests_;
};

}  // namespace unisono::order
