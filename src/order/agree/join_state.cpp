// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/agree/join_state.hpp"

#include <algorithm>

namespace unisono::order {

void JoinState::add(int member, Request request) {
  joined_.set(member);
  last_ = member;
  const bool known = std::any_of(requests_.begin(), requests_.end(),
                                 [&](const Request& r) { return r.name == request.name; });
  if (!known) requests_.push_back(std::move(request));
}

void JoinState::reset() {
  joined_ = MemberBits(members_);
  last_ = -1;
  requests_.clear();
}

}  // namespace unisono::order
