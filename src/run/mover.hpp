// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A thread that steps one bucket at a time, so that several are in flight while the engine's loop
// looks after the rest. It only ever calls BucketRun::step() of a run that touches nothing but
// memory, or where the step does; starting, completing and failing stay with the loop.
// Thread: the engine's driver makes all calls.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>

#include "base/os/doorbell.hpp"
#include "run/bucket_run.hpp"

namespace unisono::run {

class Mover {
 public:
  explicit Mover(Ringer engine);
  ~Mover();
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;

  // Lends the run until idle(): it is stepped until it waits for others or has finished.
  void give(BucketRun& run);
  bool idle() const { return turn_.load(std::memory_order_acquire) % 2 == 0; }
  // After idle(): what the last step said, or threw.
  move::Step result() const {
    if (error_ != nullptr) std::rethrow_exception(error_);
    return result_;
  }
  // Waits for the step in progress, which never waits for anybody.
  void finish_step() const;

 private:
  void run();

  Ringer engine_;
  std::atomic<std::uint32_t> turn_{0};      // odd while a run is lent
  std::atomic<bool> closing_{false};
  BucketRun* lent_ = nullptr;
  move::Step result_ = move::Step::waiting;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace unisono::run
