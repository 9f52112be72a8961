// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// One submitted operation while the engine works on it: the request others see, and what only
// this rank knows. Owned by the engine from submission until its ticket is finished.
// One that is dropped unfinished, by an exception or with the engine itself, fails: a ticket never
// stays without an answer.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "model/request.hpp"
#include "model/ticket.hpp"
#include "unisono/sparse.hpp"

namespace unisono {

namespace stream {
class Stream;                               // stream/stream.hpp
}  // namespace stream

struct Pending {
  Request request;
  const void* input = nullptr;
  void* output = nullptr;                   // null: the result is owned by the ticket
  std::shared_ptr<TicketState> ticket;
  std::shared_ptr<void> keep_alive;
  std::function<void(const Status&)> on_done;
  std::vector<std::int64_t> splits;         // alltoall: rows for each member, when uneven
  std::shared_ptr<const stream::Stream> sparse;  // what this rank brings to a sparse collective
  std::shared_ptr<const SparseOperator> user_operator;  // of one; null: the request's
  bool keep_inputs = false;                 // a failure leaves the output as it was
  Time submitted, agreed;

  Pending() = default;
  Pending(Pending&& other) noexcept = default;
  Pending& operator=(Pending&& other) noexcept;
  ~Pending();

  // Tells the callback, then finishes the ticket. If the callback throws, that becomes the status.
  void finish(Status status) noexcept;
};

// The status of an operation that was dropped unfinished.
const Status& dropped_status();

}  // namespace unisono
