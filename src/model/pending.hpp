// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// One submitted operation while the engine works on it: the request others see, and what only
// this rank knows. Owned by the engine from submission until its ticket is finished.
#pragma once

#include <functional>
#include <memory>

#include "base/clock.hpp"
#include "model/request.hpp"
#include "model/ticket.hpp"

namespace unisono {

struct Pending {
  Request request;
  const void* input = nullptr;
  void* output = nullptr;                   // null: the result is owned by the ticket
  std::shared_ptr<TicketState> ticket;
  std::shared_ptr<void> keep_alive;
  std::function<void(const Status&)> on_done;
  Time submitted, agreed;
};

}  // namespace unisono
