// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Responses that move no data: what the members decided takes effect here, at once.
#include <utility>

#include "base/data/text.hpp"
#include "engine/loop/set_runner.hpp"

namespace unisono::engine {

// Runs a decision that moves no data. Returns whether the bucket was one.
bool SetRunner::run_at_once(const Bucket& bucket) {
  const Response& first = bucket.responses.front();
  const Request& request = first.tensors.front();
  if (request.kind == kRelease) {
    parts_.host->close_persistent(parts_.id, static_cast<std::uint32_t>(request.members.front()));
    resolve_one(request, {}, -1);
    return true;
  }
  switch (request.kind) {
    case Collective::join:
      for (const Request& join : first.tensors) resolve_one(join, {}, first.value);
      return true;
    case Collective::add_process_set:
      if (parts_.id != 0) return refuse_administration(first);
      resolve_one(request, {}, parts_.host->open_set(first));
      return true;
    case Collective::prepare:
      resolve_one(request, {}, parts_.host->open_persistent(parts_.members, first));
      return true;
    case Collective::switch_order:          // the order itself has switched already
      resolve_one(request, {}, -1);
      return true;
    case Collective::remove_process_set:
      // The world decides about sets, so that no set ever closes itself.
      if (parts_.id != 0 || request.members.front() == 0) return refuse_administration(first);
      parts_.host->close_set(static_cast<SetId>(request.members.front()));
      resolve_one(request, {}, -1);
      return true;
    default:
      return false;
  }
}

bool SetRunner::refuse_administration(const Response& response) {
  fail_tensors(response, Status(Code::invalid_argument,
                                cat(name_of(response.tensors.front().kind),
                                    " is for the world, not for process set ", parts_.id)));
  return true;
}

void SetRunner::resolve_one(const Request& request, Status status, std::int64_t value) {
  Pending pending = parts_.shared->pendings->take(parts_.id, request.name);
  if (pending.ticket == nullptr) return;
  pending.ticket->value = value;
  observe::Counters::add(status.ok() ? parts_.shared->counters->operations
                                     : parts_.shared->counters->operations_failed);
  submit::resolve(pending, std::move(status), release_);
}

void SetRunner::fail_agreed() {
  for (const Response& response : std::exchange(failures_, {})) {
    fail_tensors(response, parts_.host->name_peer(response.error, parts_.members));
  }
}

void SetRunner::fail_tensors(const Response& response, const Status& status) {
  for (const Request& tensor : response.tensors) resolve_one(tensor, status, -1);
}

}  // namespace unisono::engine
