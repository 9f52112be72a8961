// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// One rank's steps: time that passes as compute would, gradients handed over when their time has come
// and exchanged through an engine, sums that are known beforehand.
//
// Element j of rank r holds (j + 3r) mod 61; the first of every 1,024 has (step mod 13) on top, so
// that results of another step are found. Sums of small integers are exact.
// Thread: one. Buffers live as long as the object, and an engine must be through with them before.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "bench/buffer.hpp"
#include "sim/workload/workload.hpp"
#include "unisono/unisono.hpp"

namespace unisono::tools {

struct ReplaySettings {
  int rank = 0, ranks = 1;
  int groups = 0;                            // > 0: hands tensors over as so many groups
  bool forward_waits = false;
  Nanos spin{0};                             // the last part of each wait, where there are cores
  // How far a sum may be off, in proportion: codecs of plans round. The elements themselves are
  // small whole numbers, which none of them changes.
  float tolerance = 0;
};

struct ReplayedStep {
  double seconds = 0;
  double late_seconds = 0;                   // of the last gradient, behind the profile
};

class StepReplay {
 public:
  StepReplay(const sim::Workload& profile, const ReplaySettings& settings);

  // Before a turn: what was left by other engines is gone, so that it cannot be taken for a result.
  void clear();
  // Forward, backward, and then the wait for all gradients. With forward_waits, the wait for the
  // gradients of the step before is in forward, and finish() is called after the last step.
  Result<ReplayedStep> step(Engine& engine, bool grouped);
  Status finish();
  // After step() and finish(): whether each element of each tensor is the sum over all ranks. The
  // error names the tensor, the element, and what it should have been.
  Status check() const;

 private:
  struct Unit {                              // what is handed over at once
    std::size_t begin, end;
    double ready_us;
  };
  std::span<float> in(std::size_t tensor) const;
  std::span<float> out(std::size_t tensor) const;
  void touch(std::size_t tensor);
  Operation operation(std::size_t tensor) const;
  Status hand_over(Engine& engine, const Unit& unit);
  Result<Nanos> forward(Time begin);
  void wait_until(Time at) const;

  const sim::Workload& profile_;
  ReplaySettings settings_;
  std::vector<Unit> alone_, grouped_;
  std::vector<std::size_t> offsets_;         // in floats
  std::vector<std::size_t> forward_order_;
  Buffer input_, output_;
  std::vector<Ticket> tickets_;              // by tensor; empty ones are not on their way
  int step_ = 0;
  SteadyClock clock_;
};

}  // namespace unisono::tools
