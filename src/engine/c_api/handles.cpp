// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/c_api/handles.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/data/text.hpp"

namespace unisono::engine::c_api {
namespace {

thread_local Status t_last_error;

// A field that lay where an older struct has padding would be read from memory that its caller did
// not fill in, since its size says that it is there. So no struct ends with padding, and what is
// added makes it larger.
static_assert(sizeof(unisono_call) == offsetof(unisono_call, team) + sizeof(int32_t));
static_assert(offsetof(unisono_call, team) == offsetof(unisono_call, keep_inputs) +
                                                  sizeof(int32_t));
static_assert(sizeof(void*) != 8 ||
              (offsetof(unisono_call, prescale) == 16 && offsetof(unisono_call, codec) == 40 &&
               offsetof(unisono_call, keep_inputs) == 64 && sizeof(unisono_call) == 72));

// The size in the first published header; no caller has less.
constexpr std::size_t kSmallestCall = offsetof(unisono_call, codec);
// No header has more; a struct that nobody filled in may say anything.
constexpr std::size_t kLargestCall = 4096;

// A caller built with an older header has a shorter struct: the rest keeps its defaults. One built
// with a newer header may not ask for what this library does not know.
Result<unisono_call> known_part(const unisono_call& given) {
  if (given.size < kSmallestCall || given.size > kLargestCall) {
    return wrong(cat("the size of unisono_call is ", given.size, ", which is none from ",
                     kSmallestCall, " to ", kLargestCall, "; start from unisono_call_init()"));
  }
  const auto* bytes = reinterpret_cast<const std::byte*>(&given);
  for (std::size_t i = sizeof(unisono_call); i < given.size; ++i) {
    if (bytes[i] != std::byte{0}) {
      return wrong(cat("unisono_call has settings that version ", version(),
                       " does not know; use the library that belongs to the header"));
    }
  }
  unisono_call call = unisono_call_init();
  std::memcpy(&call, &given, std::min(given.size, sizeof call));
  return call;
}

}  // namespace

int report(Status status) {
  const int code = static_cast<int>(status.code());
  t_last_error = std::move(status);
  return code;
}
const Status& last_error() { return t_last_error; }

Status not_initialized() {
  return Status(Code::not_initialized, "unisono is not initialised; call unisono_init() first");
}
Status wrong(std::string what) { return Status(Code::invalid_argument, std::move(what)); }
Status null_argument(const char* what) { return wrong(cat(what, " is null")); }

Result<Settings> settings_from(const unisono_call* call) {
  unisono_call given = unisono_call_init();
  if (call != nullptr) {
    auto known = known_part(*call);
    if (!known) return known.status();
    given = *known;
  }
  const auto op = static_cast<unsigned>(given.op);
  if (op >= static_cast<unsigned>(kReduceOpCount)) {
    return wrong(cat("there is no operator ", op, "; start from unisono_call_init()"));
  }
  Settings settings;
  settings.op = static_cast<ReduceOp>(op);
  settings.prescale = given.prescale;
  settings.postscale = given.postscale;
  settings.process_set = given.process_set;
  settings.priority = given.priority;
  settings.keep_inputs = given.keep_inputs != 0;
  settings.team = given.team;
  if (given.codec != nullptr) settings.codec = given.codec;
  if (given.on_done != nullptr) {
    settings.on_done = [call_back = given.on_done, context = given.context](const Status& status) {
      call_back(static_cast<int>(status.code()), status.message().c_str(), context);
    };
  }
  return settings;
}

Result<Operation> operation_from(const CTensor& given) {
  constexpr int kDimsMax = 64;
  if (given.name == nullptr) return null_argument("the name");
  const auto fault = [&](std::string what) {
    return wrong(cat("'", given.name, "': ", std::move(what)));
  };
  const auto dtype = static_cast<unsigned>(given.dtype);
  if (dtype >= static_cast<unsigned>(kDTypeCount)) {
    return fault(cat("there is no dtype ", dtype));
  }
  if (given.dims < 0 || given.dims > kDimsMax) {
    return fault(cat("a tensor has 0 to ", kDimsMax, " dimensions, not ", given.dims));
  }
  if (given.dims > 0 && given.shape == nullptr) return fault("the shape is null");
  Operation operation;
  operation.kind = given.kind;
  operation.name = given.name;
  operation.dtype = static_cast<DType>(dtype);
  if (given.dims > 0) operation.shape.assign(given.shape, given.shape + given.dims);
  operation.input = given.input;
  operation.output = given.output;
  return operation;
}

// A ticket that is already done was refused at the door: its error is the error of the call.
Status hand_out(Ticket ticket, unisono_ticket** out) {
  if (auto status = ticket.refusal(); !status) {
    *out = nullptr;
    return status;
  }
  *out = new unisono_ticket{std::move(ticket), {}};
  return {};
}

}  // namespace unisono::engine::c_api
