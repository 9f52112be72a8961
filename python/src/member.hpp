// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// An engine as Python holds it. Extensions beside _core take it as an argument. Thread: any.
#pragma once

#include <optional>
#include <utility>

#include "bindings.hpp"
#include "unisono/unisono.hpp"

namespace unisono::python {

// Leaving the job may wait for other ranks, which may be threads that need the GIL to leave too.
class Member {
 public:
  explicit Member(Engine engine) : engine_(std::move(engine)) {}
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  ~Member() {
    const nb::gil_scoped_release unlocked;
    engine_.reset();
  }
  Engine& engine() { return *engine_; }

 private:
  std::optional<Engine> engine_;
};

}  // namespace unisono::python
