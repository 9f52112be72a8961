// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What went wrong, for whom, why, and how to fix it: the only error type of unisono.
// A Status is an immutable value, cheap when ok; a Ticket returns it, and it is never thrown.
#pragma once

#include <cassert>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "unisono/export.hpp"

namespace unisono {

// Numbers are part of the C ABI: add at the end, never renumber.
enum class Code : std::int32_t {
  ok = 0,
  invalid_argument = 1,  // the caller's mistake, found locally
  duplicate_name = 2,    // the name is in flight already
  mismatch = 3,          // ranks disagree on shape, dtype, op, root, group, ...
  peer_lost = 4,         // a rank died, stopped answering, or was cut off
  peer_left = 5,         // a rank shut down in good order while others still needed it
  timed_out = 6,         // a deadline given by the caller passed
  stalled = 7,           // some ranks never submitted within the stall limit
  not_initialized = 8,
  shut_down = 9,
  forked = 10,           // the engine belongs to the parent process
  refused = 11,          // join refused: key, protocol version or options differ
  unavailable = 12,      // the machine lacks something
  corrupted = 13,        // a frame failed its check
  out_of_memory = 14,
  internal = 15,
};

UNISONO_API std::string_view code_name(Code code);

// The rank a fault is blamed on; rank < 0 means nobody in particular.
struct Culprit {
  int rank = -1;
  std::string host;
  std::int64_t pid = 0;
  std::string tensor;
};

class UNISONO_API [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message, Culprit culprit = {});

  bool ok() const { return rep_ == nullptr; }
  explicit operator bool() const { return ok(); }
  Code code() const { return rep_ ? rep_->code : Code::ok; }
  const std::string& message() const;
  const Culprit& culprit() const;
  // Whether the same call could succeed later, after the job re-forms. A mismatch never can.
  bool retryable() const;
  // "PeerLost: rank 3 ..." for people and logs.
  std::string to_string() const;

 private:
  struct Rep {
    Code code;
    std::string message;
    Culprit culprit;
  };
  std::shared_ptr<const Rep> rep_;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}  // NOLINT: implicit on purpose
  Result(Status status) : state_(std::move(status)) { assert(!std::get<Status>(state_).ok()); }

  bool ok() const { return std::holds_alternative<T>(state_); }
  explicit operator bool() const { return ok(); }
  Status status() const { return ok() ? Status{} : std::get<Status>(state_); }
  T& value() & { return std::get<T>(state_); }
  const T& value() const& { return std::get<T>(state_); }
  T&& value() && { return std::get<T>(std::move(state_)); }
  T* operator->() { return &std::get<T>(state_); }
  T& operator*() & { return std::get<T>(state_); }

 private:
  std::variant<T, Status> state_;
};

}  // namespace unisono
