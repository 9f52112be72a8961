// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The program strategy, for callers that make the same calls in the same order on every member:
// call i is response i, given out at once by each member, and nobody is asked.
//
// What a member calls goes with the exchange as a hash (Response::call), and members compare it
// before anything moves. A difference ends that position everywhere with the vote abort, and so do
// a call that must be agreed on (a join, a new process set) and a member that has nothing to call
// when others have waited for long. Then all meet at that position (parley.hpp): each says what it
// calls, the first member answers, and from the next position on calls run unasked again.
//
//   state    event                                                      next
//   running  the exchange of a position ended with abort                meeting there
//   meeting  the first member has answered                              running
//            the same, and a member has left                            meeting at the next position
//
// Both are changed at the same position on every member. docs/PROGRAM_ORDER.md has the whole story.
#pragma once

#include <memory>

#include "order/order.hpp"

namespace unisono::order {

std::unique_ptr<Order> make_program(Members members, OrderSettings settings);

}  // namespace unisono::order
