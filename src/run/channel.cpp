// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/channel.hpp"

namespace unisono::run {

move::Step Channel::step() {
  if (mover == nullptr || !run->local()) return run->step();
  if (lent) {
    if (!mover->idle()) return move::Step::waiting;
    lent = false;
    if (mover->result() == move::Step::finished) return move::Step::finished;
  }
  if (!run->ready() || !run->trouble().ok()) return move::Step::waiting;
  mover->give(*run);
  lent = true;
  return move::Step::advanced;
}

bool Channel::ready() const {
  if (run == nullptr) return !queue.empty();
  return lent ? mover->idle() : run->ready();
}

}  // namespace unisono::run
