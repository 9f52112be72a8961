// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Tickets and memory of the C interface.
#include <chrono>

#include "engine/c_api/handles.hpp"

using namespace unisono;
using namespace unisono::engine::c_api;

extern "C" {

int unisono_wait(unisono_ticket* ticket, double timeout_s) {
  return guarded([&]() -> Status {
    if (ticket == nullptr) return null_argument("the ticket");
    constexpr double kLongest_s = 9e9;      // more does not fit into nanoseconds; 285 years
    const bool limited = timeout_s >= 0 && timeout_s < kLongest_s;
    const auto limit =
        std::chrono::nanoseconds(limited ? static_cast<std::int64_t>(timeout_s * 1e9) : -1);
    Status status = ticket->ticket.wait_for(limit);
    if (status.ok()) ticket->output = ticket->ticket.output();
    return status;
  });
}

int unisono_done(unisono_ticket* ticket) { return ticket == nullptr || ticket->ticket.done(); }

const void* unisono_output_data(unisono_ticket* ticket, size_t* bytes) {
  if (bytes != nullptr) *bytes = ticket == nullptr ? 0 : ticket->output.bytes.size();
  return ticket == nullptr ? nullptr : ticket->output.bytes.data();
}
int unisono_output_dims(unisono_ticket* ticket) {
  return ticket == nullptr ? 0 : static_cast<int>(ticket->output.shape.size());
}
const int64_t* unisono_output_shape(unisono_ticket* ticket) {
  return ticket == nullptr ? nullptr : ticket->output.shape.data();
}
const int64_t* unisono_output_splits(unisono_ticket* ticket, int* count) {
  if (count != nullptr)
    *count = ticket == nullptr ? 0 : static_cast<int>(ticket->output.splits.size());
  return ticket == nullptr ? nullptr : ticket->output.splits.data();
}
void unisono_ticket_free(unisono_ticket* ticket) { delete ticket; }

int unisono_arena_allocate(unisono_engine* engine, size_t bytes, unisono_block** block) {
  return with_engine(engine, [&](Engine& target) -> Status {
    if (block == nullptr) return null_argument("the place for the block");
    auto memory = target.arena().allocate(bytes);
    if (!memory) return memory.status();
    *block = new unisono_block{std::move(*memory)};
    return {};
  });
}
void* unisono_block_data(unisono_block* block) {
  return block == nullptr ? nullptr : block->memory.data();
}
size_t unisono_block_size(unisono_block* block) {
  return block == nullptr ? 0 : block->memory.size();
}
void unisono_block_free(unisono_block* block) { delete block; }

size_t unisono_arena_used(unisono_engine* engine) {
  const auto target = pick(engine);
  return target == nullptr ? 0 : target->engine.arena().used();
}
size_t unisono_arena_capacity(unisono_engine* engine) {
  const auto target = pick(engine);
  return target == nullptr ? 0 : target->engine.arena().capacity();
}

}  // extern "C"
