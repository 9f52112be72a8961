// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/channel.hpp"

namespace unisono::run {

move::Step Channel::step() {
  if (held_until != kNever) return hold();
  const move::Step step = move_on();
  if (step != move::Step::finished) return step;
  const Nanos longer = run->emulated();
  if (longer <= Nanos(0)) return step;
  held_until = run->clock().now() + longer;
  run->note_moved();
  return hold();
}

// The emulated network is one channel, as this is: what is next begins when the bucket is let go.
move::Step Channel::hold() {
  if (run->clock().now() < held_until) {
    run->clock().wake_at(held_until);
    return move::Step::waiting;
  }
  held_until = kNever;
  return move::Step::finished;
}

move::Step Channel::move_on() {
  if (lent) {
    if (!mover->idle()) return move::Step::waiting;
    lent = false;
    if (mover->result() == move::Step::finished) return move::Step::finished;
  }
  if (mover == nullptr || !(run->local() || run->computes())) return run->step();
  if (!run->ready() || !run->trouble().ok()) return move::Step::waiting;
  mover->give(*run);
  lent = true;
  return move::Step::advanced;
}

bool Channel::ready() const {
  if (run == nullptr) return !queue.empty();
  if (held_until != kNever) return run->clock().now() >= held_until;
  return lent ? mover->idle() : run->ready();
}

}  // namespace unisono::run
