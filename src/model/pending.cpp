// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "model/pending.hpp"

#include <exception>
#include <utility>

#include "base/data/text.hpp"

namespace unisono {
namespace {

Status callback_threw(const Pending& pending, const char* what) {
  return Status(Code::internal,
                cat("the on_done callback of '", pending.request.name, "' threw: ", what),
                Culprit{.rank = -1, .host = {}, .pid = 0, .tensor = pending.request.name});
}

Status call_back(const Pending& pending, const Status& status) {
  try {
    try {
      pending.on_done(status);
      return status;
    } catch (const std::exception& error) {
      return callback_threw(pending, error.what());
    } catch (...) {
      return callback_threw(pending, "something that is no std::exception");
    }
  } catch (...) {
    return dropped_status();                // no memory for the message
  }
}

}  // namespace

const Status& dropped_status() {
  static const Status kDropped(
      Code::internal,
      "the engine failed while it worked on this operation, most likely for want of memory. "
      "Free memory on this host and join again");
  return kDropped;
}

Pending& Pending::operator=(Pending&& other) noexcept {
  if (this == &other) return *this;
  if (ticket != nullptr) finish(dropped_status());
  request = std::move(other.request);
  input = other.input;
  output = other.output;
  ticket = std::move(other.ticket);
  keep_alive = std::move(other.keep_alive);
  on_done = std::exchange(other.on_done, {});
  splits = std::move(other.splits);
  sparse = std::move(other.sparse);
  user_operator = std::move(other.user_operator);
  keep_inputs = other.keep_inputs;
  submitted = other.submitted;
  agreed = other.agreed;
  return *this;
}

Pending::~Pending() {
  if (ticket != nullptr) finish(dropped_status());
}

void Pending::finish(Status status) noexcept {
  if (on_done) {
    ticket->observe();
    status = call_back(*this, status);
  }
  keep_alive.reset();
  ticket->status = std::move(status);
  ticket->finish();
  ticket.reset();
}

}  // namespace unisono
