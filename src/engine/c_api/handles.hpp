// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the calls of the C interface share. No exception may cross it: errors are codes, plus a
// message kept per thread. Thread: any.
#pragma once

#include <memory>
#include <string>

#include "unisono/unisono.h"
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
struct unisono_persistent {
  unisono::Persistent operation;
};
struct unisono_block {
  unisono::ArenaBlock memory;
};

namespace unisono::engine::c_api {

// Keeps the message for unisono_last_error() and returns the code.
int report(Status status);
const Status& last_error();

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

// Returns the engine that is meant, kept alive for the length of a call. Null means the default
// one; the result is null when there is none.
std::shared_ptr<unisono_engine> pick(unisono_engine* engine);

Status not_initialized();
Status wrong(std::string what);
Status null_argument(const char* what);

// A tensor as C describes it.
struct CTensor {
  Collective kind;
  const char* name;
  unisono_dtype dtype;
  int dims;
  const int64_t* shape;
  const void* input;
  void* output;
};
Result<Operation> operation_from(const CTensor& given);
// Null means the defaults. Only the fields that the caller's header knew are read.
Result<Settings> settings_from(const unisono_call* call);

// A ticket that is already done was refused at the door: its error is the error of the call.
Status hand_out(Ticket ticket, unisono_ticket** out);

// Runs body(engine) with the engine that is meant, or reports that there is none.
template <typename Body>
int with_engine(unisono_engine* engine, Body body) {
  return guarded([&]() -> Status {
    const auto target = pick(engine);
    return target == nullptr ? not_initialized() : body(target->engine);
  });
}

}  // namespace unisono::engine::c_api
