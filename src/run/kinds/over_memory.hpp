// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A kind of run whose machines work in memory that all members share: it can tell who has come, and
// what becomes of it when somebody dies.
#pragma once

#include <memory>
#include <utility>

#include "move/local/local.hpp"

namespace unisono::run {

template <typename Kind>
class OverMemory : public Kind {
 public:
  using Kind::Kind;
  bool joined() const final { return local() != nullptr && local_->joined(); }

 protected:
  void use(std::unique_ptr<move::LocalCollective> machine) {
    local_ = machine.get();
    this->machine_ = std::move(machine);
  }
  // Between two machines there is none, and a next one may never come.
  const move::LocalCollective* local() const {
    return this->machine_ == nullptr ? nullptr : local_;
  }

 private:
  bool committed() const final { return local() != nullptr && local_->committed(); }
  void undo() final {
    if (local() != nullptr) local_->undo();
  }

  move::LocalCollective* local_ = nullptr;  // machine_, by its own type
};

}  // namespace unisono::run
