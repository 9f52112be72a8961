// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The C ABI on top of Engine. Nothing may throw across it; errors are codes plus words kept per
// thread. The default engine is the one process-wide object of unisono, and it lives here.
#include "unisono/unisono.h"

#include <mutex>
#include <new>
#include <optional>
#include <sstream>
#include <string>

#include "base/data/text.hpp"
#include "engine/core.hpp"
#include "unisono/unisono.hpp"

struct unisono_engine {
  unisono::Engine engine;
};
struct unisono_ticket {
  unisono::Ticket ticket;
  unisono::Output output;
};
struct unisono_world {
  unisono::ThreadWorld world;
};

namespace {

using unisono::Code;
using unisono::Status;

thread_local Status t_last_error;

int report(Status status) {
  const int code = static_cast<int>(status.code());
  t_last_error = std::move(status);
  return code;
}

template <typename Body>
int guarded(Body body) {
  try {
    return report(body());
  } catch (const std::bad_alloc&) {
    return report(Status(Code::out_of_memory, "out of memory"));
  } catch (const std::exception& error) {
    return report(Status(Code::internal, error.what()));
  }
}

struct Default {
  std::mutex mutex;
  std::shared_ptr<unisono_engine> engine;
};
// Never destroyed: a rank may still be inside a call while the process ends.
Default& default_engine() {
  static auto* instance = new Default;
  return *instance;
}

// Keeps the engine alive for the length of a call.
std::shared_ptr<unisono_engine> pick(unisono_engine* engine) {
  if (engine != nullptr) return {engine, [](unisono_engine*) {}};
  std::lock_guard lock(default_engine().mutex);
  return default_engine().engine;
}

Status not_initialized() {
  return Status(Code::not_initialized, "unisono is not initialised; call unisono_init() first");
}

Status wrong(std::string what) { return Status(Code::invalid_argument, std::move(what)); }
Status null_argument(const char* what) { return wrong(unisono::cat(what, " is null")); }

unisono::Result<unisono::Settings> settings_from(const unisono_call* call) {
  const unisono_call given = call != nullptr ? *call : unisono_call_init();
  const auto op = static_cast<unsigned>(given.op);
  if (op >= static_cast<unsigned>(unisono::kReduceOpCount)) {
    return wrong(unisono::cat("there is no operator ", op, "; start from unisono_call_init()"));
  }
  unisono::Settings settings;
  settings.op = static_cast<unisono::ReduceOp>(op);
  settings.prescale = given.prescale;
  settings.postscale = given.postscale;
  settings.process_set = given.process_set;
  settings.priority = given.priority;
  return settings;
}

// A tensor as C describes it.
struct CTensor {
  unisono::Collective kind;
  const char* name;
  unisono_dtype dtype;
  int dims;
  const int64_t* shape;
  const void* input;
  void* output;
};

unisono::Result<unisono::Operation> operation_from(const CTensor& given) {
  constexpr int kDimsMost = 64;
  if (given.name == nullptr) return null_argument("the name");
  const auto fault = [&](std::string what) {
    return wrong(unisono::cat("'", given.name, "': ", std::move(what)));
  };
  const auto dtype = static_cast<unsigned>(given.dtype);
  if (dtype >= static_cast<unsigned>(unisono::kDTypeCount)) {
    return fault(unisono::cat("there is no dtype ", dtype));
  }
  if (given.dims < 0 || given.dims > kDimsMost) {
    return fault(unisono::cat("a tensor has 0 to ", kDimsMost, " dimensions, not ", given.dims));
  }
  if (given.dims > 0 && given.shape == nullptr) return fault("the shape is null");
  unisono::Operation operation;
  operation.kind = given.kind;
  operation.name = given.name;
  operation.dtype = static_cast<unisono::DType>(dtype);
  if (given.dims > 0) operation.shape.assign(given.shape, given.shape + given.dims);
  operation.input = given.input;
  operation.output = given.output;
  return operation;
}

// A ticket that is done already failed at the door: its error is the call's.
Status hand_out(unisono::Ticket ticket, unisono_ticket** out) {
  if (auto status = ticket.refusal(); !status) {
    *out = nullptr;
    return status;
  }
  *out = new unisono_ticket{std::move(ticket), {}};
  return {};
}

// What a collective asks for beyond the rest.
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

unisono::Result<unisono::Options> options_from(const char* lines) {
  auto options = unisono::Options::from_environment();
  if (!options || lines == nullptr) return options;
  std::istringstream text(lines);
  for (std::string line; std::getline(text, line);) {
    const auto equals = line.find('=');
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    if (equals == std::string::npos) {
      return Status(Code::invalid_argument, unisono::cat("'", line, "' is no key=value"));
    }
    if (auto status = options->set(line.substr(0, equals), line.substr(equals + 1)); !status) {
      return status;
    }
  }
  return options;
}

template <typename Value>
int ask(unisono_engine* engine, Value value) {
  const auto target = pick(engine);
  if (target == nullptr) {
    report(not_initialized());
    return -1;
  }
  return value(target->engine.identity());
}

}  // namespace

extern "C" {

unisono_call unisono_call_init(void) {
  return {sizeof(unisono_call), UNISONO_AVERAGE, 1.0, 1.0, 0, 0};
}

const char* unisono_version(void) { return unisono::version().data(); }
const char* unisono_last_error(void) { return t_last_error.message().c_str(); }
int unisono_last_culprit(void) { return t_last_error.culprit().rank; }

int unisono_join(const char* options, unisono_engine** engine) {
  return guarded([&]() -> Status {
    if (engine == nullptr) return null_argument("the place for the engine");
    auto parsed = options_from(options);
    if (!parsed) return parsed.status();
    auto joined = unisono::Engine::join(std::move(*parsed));
    if (!joined) return joined.status();
    *engine = new unisono_engine{std::move(*joined)};
    return {};
  });
}

void unisono_leave(unisono_engine* engine) { delete engine; }

int unisono_init(void) {
  return guarded([&]() -> Status {
    std::lock_guard lock(default_engine().mutex);
    if (const auto& present = default_engine().engine) return present->engine.core()->usable();
    auto joined = unisono::Engine::join();
    if (!joined) return joined.status();
    default_engine().engine =
        std::make_shared<unisono_engine>(unisono_engine{std::move(*joined)});
    return {};
  });
}

int unisono_shutdown(void) {
  return guarded([&]() -> Status {
    std::shared_ptr<unisono_engine> last;
    {
      std::lock_guard lock(default_engine().mutex);
      last.swap(default_engine().engine);
    }
    if (last != nullptr) last->engine.shutdown();
    return {};
  });
}

int unisono_is_initialized(void) { return pick(nullptr) != nullptr; }

unisono_world* unisono_world_create(int size) {
  unisono_world* world = nullptr;
  guarded([&]() -> Status {
    if (size < 1) return wrong(unisono::cat("a world has at least one seat, not ", size));
    world = new unisono_world{unisono::ThreadWorld(size)};
    return {};
  });
  return world;
}
void unisono_world_free(unisono_world* world) { delete world; }

int unisono_join_world(unisono_world* world, int rank, const char* options,
                       unisono_engine** engine) {
  return guarded([&]() -> Status {
    if (world == nullptr) return null_argument("the world");
    if (engine == nullptr) return null_argument("the place for the engine");
    auto parsed = options_from(options);
    if (!parsed) return parsed.status();
    auto joined = unisono::Engine::join(std::move(*parsed), world->world, rank);
    if (!joined) return joined.status();
    *engine = new unisono_engine{std::move(*joined)};
    return {};
  });
}

int unisono_rank(unisono_engine* engine) {
  return ask(engine, [](const unisono::Identity& who) { return who.rank; });
}
int unisono_size(unisono_engine* engine) {
  return ask(engine, [](const unisono::Identity& who) { return who.size; });
}
int unisono_local_rank(unisono_engine* engine) {
  return ask(engine, [](const unisono::Identity& who) { return who.local_rank; });
}
int unisono_local_size(unisono_engine* engine) {
  return ask(engine, [](const unisono::Identity& who) { return who.local_size; });
}

int unisono_allreduce(unisono_engine* engine, const char* name, unisono_dtype dtype, int dims,
                      const int64_t* shape, const void* input, void* output,
                      const unisono_call* call, unisono_ticket** ticket) {
  return submit(engine, {unisono::Collective::allreduce, name, dtype, dims, shape, input, output},
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
      return Status(Code::invalid_argument, "a group needs a name and at least one tensor");
    }
    if (names == nullptr || dims == nullptr || shapes == nullptr || inputs == nullptr ||
        outputs == nullptr || tickets == nullptr) {
      return null_argument("one of the lists of the group");
    }
    std::vector<unisono::Operation> operations;
    for (int i = 0; i < count; ++i) {
      auto operation = operation_from({unisono::Collective::allreduce, names[i], dtype, dims[i],
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
  return submit(engine, {unisono::Collective::broadcast, name, dtype, dims, shape, input, output},
                call, ticket, {.root = root});
}

int unisono_allgather(unisono_engine* engine, const char* name, unisono_dtype dtype, int dims,
                      const int64_t* shape, const void* input, const unisono_call* call,
                      unisono_ticket** ticket) {
  return submit(engine, {unisono::Collective::allgather, name, dtype, dims, shape, input, nullptr},
                call, ticket);
}

int unisono_reducescatter(unisono_engine* engine, const char* name, unisono_dtype dtype, int dims,
                          const int64_t* shape, const void* input, const unisono_call* call,
                          unisono_ticket** ticket) {
  return submit(engine,
                {unisono::Collective::reducescatter, name, dtype, dims, shape, input, nullptr}, call,
                ticket);
}

int unisono_alltoall(unisono_engine* engine, const char* name, unisono_dtype dtype, int dims,
                     const int64_t* shape, const void* input, const int64_t* splits,
                     int split_count, const unisono_call* call, unisono_ticket** ticket) {
  return submit(engine, {unisono::Collective::alltoall, name, dtype, dims, shape, input, nullptr},
                call, ticket, {.splits = splits, .split_count = split_count});
}

int unisono_barrier(unisono_engine* engine, uint32_t process_set) {
  return guarded([&]() -> Status {
    const auto target = pick(engine);
    return target == nullptr ? not_initialized() : target->engine.barrier(process_set).wait();
  });
}

int unisono_start_timeline(unisono_engine* engine, const char* path, int mark_cycles) {
  return guarded([&]() -> Status {
    const auto target = pick(engine);
    if (target == nullptr) return not_initialized();
    return target->engine.start_timeline(path == nullptr ? "" : path, mark_cycles != 0);
  });
}

int unisono_stop_timeline(unisono_engine* engine) {
  return guarded([&]() -> Status {
    const auto target = pick(engine);
    if (target == nullptr) return not_initialized();
    target->engine.stop_timeline();
    return {};
  });
}

int unisono_join_ranks(unisono_engine* engine, int* last_rank) {
  return guarded([&]() -> Status {
    const auto target = pick(engine);
    if (target == nullptr) return not_initialized();
    const unisono::Ticket ticket = target->engine.join_ranks();
    if (auto status = ticket.wait(); !status) return status;
    if (last_rank != nullptr) *last_rank = static_cast<int>(ticket.output().value);
    return {};
  });
}

int unisono_add_process_set(unisono_engine* engine, const int* ranks, int count, uint32_t* id) {
  return guarded([&]() -> Status {
    const auto target = pick(engine);
    if (target == nullptr) return not_initialized();
    if (ranks == nullptr || id == nullptr) return null_argument("the list of ranks or the id");
    if (count < 1) return wrong("a process set needs at least one rank");
    auto set = target->engine.add_process_set({ranks, ranks + count});
    if (!set) return set.status();
    *id = *set;
    return {};
  });
}

int unisono_remove_process_set(unisono_engine* engine, uint32_t id) {
  return guarded([&]() -> Status {
    const auto target = pick(engine);
    return target == nullptr ? not_initialized() : target->engine.remove_process_set(id);
  });
}

int unisono_wait(unisono_ticket* ticket, double timeout_s) {
  return guarded([&]() -> Status {
    if (ticket == nullptr) return Status(Code::invalid_argument, "the ticket is null");
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
  if (count != nullptr) *count = ticket == nullptr ? 0 : static_cast<int>(ticket->output.splits.size());
  return ticket == nullptr ? nullptr : ticket->output.splits.data();
}
void unisono_ticket_free(unisono_ticket* ticket) { delete ticket; }

}  // extern "C"
