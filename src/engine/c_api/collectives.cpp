// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Collectives of the C interface.
#include <algorithm>

#include "engine/c_api/handles.hpp"

using namespace unisono;
using namespace unisono::engine::c_api;

namespace {

// What some collectives take besides the common arguments.
struct CExtras {
  int root = 0;
  const int64_t* splits = nullptr;
  int split_count = 0;
};

int submit(unisono_engine* engine, const CTensor& tensor, const unisono_call* call,
           unisono_ticket** ticket, const CExtras& extras = {}) {
  return guarded([&]() -> Status {
    const auto target = pick(engine);
    if (target == nullptr) return not_initialized();
    if (ticket == nullptr) return null_argument("the place for the ticket");
    auto operation = operation_from(tensor);
    if (!operation) return operation.status();
    auto settings = settings_from(call);
    if (!settings) return settings.status();
    settings->root = extras.root;
    if (extras.splits != nullptr) {
      if (extras.split_count < 0) return wrong("the number of splits is negative");
      settings->splits.assign(extras.splits, extras.splits + extras.split_count);
    }
    return hand_out(target->engine.submit(std::move(*operation), std::move(*settings)), ticket);
  });
}

}  // namespace

extern "C" {

int unisono_allreduce(unisono_engine* engine, const char* name, unisono_dtype dtype, int dims,
                      const int64_t* shape, const void* input, void* output,
                      const unisono_call* call, unisono_ticket** ticket) {
  return submit(engine, {Collective::allreduce, name, dtype, dims, shape, input, output},
                call, ticket);
}

int unisono_grouped_allreduce(unisono_engine* engine, const char* group, int count,
                              const char* const* names, unisono_dtype dtype, const int* dims,
                              const int64_t* const* shapes, const void* const* inputs,
                              void* const* outputs, const unisono_call* call,
                              unisono_ticket** tickets) {
  return guarded([&]() -> Status {
    const auto target = pick(engine);
    if (target == nullptr) return not_initialized();
    if (group == nullptr || *group == 0 || count < 1) {
      return wrong("a group needs a name and at least one tensor");
    }
    if (names == nullptr || dims == nullptr || shapes == nullptr || inputs == nullptr ||
        outputs == nullptr || tickets == nullptr) {
      return null_argument("one of the lists of the group");
    }
    std::fill_n(tickets, count, nullptr);
    std::vector<Operation> operations;
    for (int i = 0; i < count; ++i) {
      auto operation = operation_from({Collective::allreduce, names[i], dtype, dims[i],
                                       shapes[i], inputs[i], outputs[i]});
      if (!operation) return operation.status();
      operations.push_back(std::move(*operation));
    }
    auto settings = settings_from(call);
    if (!settings) return settings.status();
    auto given = target->engine.submit_group(group, std::move(operations), std::move(*settings));
    for (int i = 0; i < count; ++i) {
      if (auto status = hand_out(given[static_cast<std::size_t>(i)], &tickets[i]); !status) {
        return status;
      }
    }
    return {};
  });
}

int unisono_broadcast(unisono_engine* engine, const char* name, unisono_dtype dtype, int dims,
                      const int64_t* shape, const void* input, void* output, int root,
                      const unisono_call* call, unisono_ticket** ticket) {
  return submit(engine, {Collective::broadcast, name, dtype, dims, shape, input, output},
                call, ticket, {.root = root});
}

int unisono_allgather(unisono_engine* engine, const char* name, unisono_dtype dtype, int dims,
                      const int64_t* shape, const void* input, const unisono_call* call,
                      unisono_ticket** ticket) {
  return submit(engine, {Collective::allgather, name, dtype, dims, shape, input, nullptr},
                call, ticket);
}

int unisono_reducescatter(unisono_engine* engine, const char* name, unisono_dtype dtype, int dims,
                          const int64_t* shape, const void* input, const unisono_call* call,
                          unisono_ticket** ticket) {
  return submit(engine,
                {Collective::reducescatter, name, dtype, dims, shape, input, nullptr},
                call, ticket);
}

int unisono_alltoall(unisono_engine* engine, const char* name, unisono_dtype dtype, int dims,
                     const int64_t* shape, const void* input, const int64_t* splits,
                     int split_count, const unisono_call* call, unisono_ticket** ticket) {
  return submit(engine, {Collective::alltoall, name, dtype, dims, shape, input, nullptr},
                call, ticket, {.splits = splits, .split_count = split_count});
}

int unisono_barrier(unisono_engine* engine, uint32_t process_set) {
  return with_engine(engine, [&](Engine& target) { return target.barrier(process_set).wait(); });
}

int unisono_join_ranks(unisono_engine* engine, int* last_rank) {
  return with_engine(engine, [&](Engine& target) -> Status {
    const Ticket ticket = target.join_ranks();
    if (auto status = ticket.wait(); !status) return status;
    if (last_rank != nullptr) *last_rank = static_cast<int>(ticket.output().value);
    return {};
  });
}

int unisono_prepare_allreduce(unisono_engine* engine, const char* name, unisono_dtype dtype,
                              int dims, const int64_t* shape, const void* input, void* output,
                              const unisono_call* call, unisono_persistent** persistent) {
  return with_engine(engine, [&](Engine& target) -> Status {
    if (persistent == nullptr) return null_argument("the place for the persistent operation");
    auto operation =
        operation_from({Collective::allreduce, name, dtype, dims, shape, input, output});
    if (!operation) return operation.status();
    auto settings = settings_from(call);
    if (!settings) return settings.status();
    auto prepared = target.prepare(std::move(*operation), std::move(*settings));
    if (!prepared) return prepared.status();
    *persistent = new unisono_persistent{std::move(*prepared)};
    return {};
  });
}

int unisono_start(unisono_persistent* persistent, unisono_ticket** ticket) {
  return guarded([&]() -> Status {
    if (persistent == nullptr) return null_argument("the persistent operation");
    if (ticket == nullptr) return null_argument("the place for the ticket");
    return hand_out(persistent->operation.start(), ticket);
  });
}

int unisono_release(unisono_persistent* persistent) {
  const std::unique_ptr<unisono_persistent> last(persistent);
  return guarded([&]() -> Status {
    return last == nullptr ? null_argument("the persistent operation") : last->operation.release();
  });
}

}  // extern "C"
