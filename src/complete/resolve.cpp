// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "complete/resolve.hpp"

#include <exception>

#include "base/text.hpp"

namespace unisono {
namespace {

Status call_back(const Pending& pending, const Status& status) {
  const Culprit tensor{.rank = -1, .host = {}, .pid = 0, .tensor = pending.request.name};
  try {
    pending.on_done(status);
    return status;
  } catch (const std::exception& error) {
    return Status(Code::internal,
                  cat("the on_done callback of '", pending.request.name, "' threw: ", error.what()),
                  tensor);
  } catch (...) {
    return Status(Code::internal,
                  cat("the on_done callback of '", pending.request.name,
                      "' threw something that is no std::exception"),
                  tensor);
  }
}

}  // namespace

void resolve(Pending& pending, Status status, const ReleaseName& release) {
  release(pending.request);
  if (pending.on_done) {
    pending.ticket->observe();
    status = call_back(pending, status);
  }
  pending.keep_alive.reset();
  pending.ticket->status = std::move(status);
  pending.ticket->finish();
  pending.ticket.reset();
}

}  // namespace unisono
