// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// One simulated rank: its order, what its compute is doing and what its engine's thread is doing.
// Small, since there may be tens of thousands. Thread: the simulation's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/data/rng.hpp"
#include "order/pacing/lockstep.hpp"
#include "sim/network/host.hpp"
#include "sim/network/wires.hpp"

namespace unisono::sim {

struct VirtualRank {
  std::unique_ptr<order::Order> order;
  order::Lockstep* lockstep = nullptr;         // within `order`; null without lockstep pacing
  Rng rng{0};

  // Compute.
  StepNoise noise;
  float slowness = 1;                   // factor of a straggler
  std::uint32_t next_tensor = 0;
  std::int64_t step_begin_ns = 0;
  std::int64_t lost_ns = 0;             // to the engine's thread, in this step
  std::int64_t compute_end_ns = 0;      // 0 while computing

  // The engine's thread.
  std::int64_t engine_free_ns = 0;
  std::int64_t engine_at_ns = -1;       // when it is due to run; -1 = parked
  std::int64_t timer_ns = -1;           // when its sleep is to end
  std::int64_t timer_due_ns = -1;       // when it will really run
  std::int64_t spin_from_ns = -1;       // start of the spinning not yet charged
  std::vector<Parcel> inbox;            // arrived, not read yet
  std::uint64_t given_out = 0;          // buckets
  std::uint32_t in_vain = 0;            // runs in a row that changed nothing
  bool alive = true;
  bool failed = false;                  // a response with an error came out

  // When a tensor that is nominally ready at `ready_ns` of `compute_ns` is ready here. Of what was
  // lost, `slack_ns` delays nothing.
  std::int64_t due(std::int64_t ready_ns, std::int64_t compute_ns, std::int64_t slack_ns) const {
    const double stretched = static_cast<double>(ready_ns) * noise.factor * slowness;
    const bool stalled =
        static_cast<float>(ready_ns) >= noise.stall_at * static_cast<float>(compute_ns);
    return step_begin_ns + static_cast<std::int64_t>(stretched) + (stalled ? noise.stall_ns : 0) +
           std::max<std::int64_t>(lost_ns - slack_ns, 0);
  }

  // Charges compute for what the spinning thread took from it since the last call. Returns the time
  // it spun.
  std::int64_t charge_spinning(std::int64_t now, std::int64_t window_end_ns,
                               const HostModel& host) {
    if (spin_from_ns < 0) return 0;
    const std::int64_t spun = now - spin_from_ns;
    if (compute_end_ns == 0) {
      const std::int64_t overlap =
          std::min(now, window_end_ns) - std::max(spin_from_ns, step_begin_ns);
      lost_ns += displaced_ns(host, rng, overlap);
    }
    spin_from_ns = now;
    return spun;
  }
};

}  // namespace unisono::sim
