// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What every collective machine shares: the step loop, the answer to a failed transfer, the text
// of a stall report.
// A failed transfer ends the work for good: step() then returns waiting forever. The engine learns
// of the loss from the transport's listener, closes the transport and destroys the machine.
// Thread: the one that drives the engine.
#pragma once

#include <string>
#include <vector>

#include "move/collective.hpp"

namespace unisono::move {

// What one pass over a machine's transfers found.
struct Pass {
  bool moved = false;
  bool failed = false;  // sticky
};

// Ranks a machine has open transfers with.
struct OpenTransfer {
  std::vector<Rank> receiving_from, sending_to;
};

class Machine : public CollectiveMachine {
 public:
  Machine(std::string name, MoveContext context);
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  Step step() final;
  std::string describe() const final;

 protected:
  // Posts and checks what it can, noting in pass_ what moved; true when all is done.
  virtual bool advance() = 0;
  virtual void add_pending(OpenTransfer& pending) const = 0;
  virtual std::string phase() const = 0;

  const MoveContext context_;
  Pass pass_;

 private:
  const std::string name_;
  bool finished_ = false;
};

}  // namespace unisono::move
