// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/mover.hpp"

#include "base/os/cpu.hpp"

namespace unisono::run {

Mover::Mover(Ringer engine) : engine_(engine), thread_([this] { run(); }) {}

Mover::~Mover() {
  finish_step();
  closing_.store(true, std::memory_order_relaxed);
  turn_.fetch_add(1, std::memory_order_release);
  turn_.notify_one();
  thread_.join();
}

void Mover::give(BucketRun& run) {
  lent_ = &run;
  turn_.fetch_add(1, std::memory_order_release);
  turn_.notify_one();
}

void Mover::finish_step() const {
  while (!idle()) std::this_thread::yield();
}

void Mover::run() {
  name_this_thread("unisono-mover");
  while (true) {
    const std::uint32_t turn = turn_.load(std::memory_order_acquire);
    if (turn % 2 == 0) {
      turn_.wait(turn, std::memory_order_acquire);
      continue;
    }
    if (closing_.load(std::memory_order_relaxed)) return;
    try {
      // What only computes goes on with the driver.
      do result_ = lent_->step();
      while (result_ == move::Step::advanced && (lent_->local() || lent_->computes()));
    } catch (...) {
      error_ = std::current_exception();    // the driver deals with it
    }
    turn_.fetch_add(1, std::memory_order_release);
    engine_.ring();
  }
}

}  // namespace unisono::run
