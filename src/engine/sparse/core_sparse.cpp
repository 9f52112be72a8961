// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How sparse collectives are submitted: the stream is made on the caller's thread.
#include <new>

#include "engine/core.hpp"
#include "move/sparse/sparse.hpp"
#include "submit/sparse_door.hpp"

namespace unisono::engine {
namespace {

bool known_sparse_algorithm(Collective kind, std::string_view name) {
  return move::sparse_algorithm_known(kind == Collective::sparse_allgather ? Collective::allgather
                                                                           : Collective::allreduce,
                                      name);
}

Ticket refused_sparse(std::string_view name, Status status) {
  auto ticket = std::make_shared<TicketState>();
  ticket->name = name;
  ticket->status = std::move(status);
  ticket->finish();
  return Ticket(std::move(ticket));
}

}  // namespace

Ticket EngineCore::submit_sparse(Collective kind, std::string_view name,
                                 const SparseOperand& operand, const SparseSettings& settings) {
  Status status;
  try {
    return try_submit_sparse(kind, name, operand, settings);
  } catch (const std::bad_alloc&) {         // nothing has been submitted
    status = out_of_memory_.ok() ? dropped_status() : out_of_memory_;
  }
  return refused_sparse(name, std::move(status));
}

Ticket EngineCore::try_submit_sparse(Collective kind, std::string_view name,
                                     const SparseOperand& operand,
                                     const SparseSettings& settings) {
  if (auto status = usable(); !status) return refused_sparse(name, std::move(status));
  const Members set = members(settings.process_set);
  auto entry = submit::make_sparse_entry(kind, name, operand, settings,
                                         set.ranks.empty() ? nullptr : &set, codecs_,
                                         known_sparse_algorithm);
  if (!entry) return refused_sparse(name, entry.status());
  auto ticket = std::make_shared<TicketState>();
  ticket->name = name;
  ticket->waiter = weak_from_this();
  Ticket claim(ticket);
  // Kept apart until it is submitted: an operation that is not submitted calls nobody back.
  std::function<void(const Status&)> callback = settings.on_done;
  Handover submission;
  Pending& pending = submission.operations.emplace_back();
  pending.request = std::move(entry->request);
  pending.sparse = std::move(entry->stream);
  pending.user_operator = settings.user_operator;
  pending.ticket = std::move(ticket);
  // Nothing throws from here on, so that no name is reserved in vain.
  if (auto status = names_.reserve(submission.operations); !status) {
    pending.ticket.reset();
    return refused_sparse(name, std::move(status));
  }
  if (callback) {
    callbacks_.store(true, std::memory_order_relaxed);
    pending.on_done.swap(callback);
  }
  hand_over(std::move(submission));
  return claim;
}

}  // namespace unisono::engine
