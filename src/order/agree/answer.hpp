// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Turns what is ready into Responses: validates, fills in extents and absent members. Pure.
#pragma once

#include "model/members.hpp"
#include "model/response.hpp"
#include "order/agree/join_state.hpp"
#include "order/agree/readiness.hpp"

namespace unisono::order {

struct Answer {
  Response response;
  // Every member sent exactly what the response says, so that each can fill it in by itself.
  bool alike = false;
  // For a failure, parallel to the tensors: the members whose requests for it end with it. What
  // another member has under way under that name is not concerned.
  std::vector<MemberBits> counted{};
  std::int64_t position = -1;           // in the response cache, when it was answered from there
};

// A unit that every member submitted or joined.
Answer answer(Unit unit, const Members& members, const JoinState& joins);
// Every member has joined.
Answer answer_join(const JoinState& joins, const Members& members);
// The unit fails, whoever has submitted it.
Answer refuse(Unit unit, Status error);

}  // namespace unisono::order
