// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What a host does to the ranks on it: noise in compute, late wake-ups, cores that threads share.
// Values and pure functions; every number is drawn from the rank's own generator.
#pragma once

#include <cstdint>

#include "base/data/rng.hpp"

namespace unisono::sim {

struct HostModel {
  int ranks_per_host = 1;

  // Compute: a step takes lognormal(sigma) times its nominal time, and rarely stalls on top of it.
  double jitter_sigma = 0.01;
  double stall_probability = 0;         // per rank and step
  double stall_mean_ms = 0;             // exponential

  // Waking a parked thread.
  double wake_us = 5;                   // by a message or a submission
  double timer_slack_us = 55;           // exponential mean, on top of a timer
  // A thread that spins uses up its share of the cores, and then waits for its turn when it wakes
  // from a sleep: probability per sleep = this x (share of the last cycle spent spinning), while
  // the cores are fully in use.
  double oversleep_probability = 0;
  double oversleep_mean_ms = 0;         // exponential

  // Cores. In the first part of a step (the window) the input pipeline is busy as well, which counts
  // while the rank computes.
  double cores_per_rank = 4;
  double busy_threads = 1;              // of framework and input pipeline, in the window
  double window = 0.5;                  // of a step that takes as long as the last one
  bool partitioned = false;             // scp: the engine has a core of its own
  // A thread that spins while the cores are fully in use takes its share of them: all threads share
  // what there are, and compute goes on as much slower. Beyond that it may occupy the core that the
  // next compute thread needs, and compute then stalls. This is how often that happens per
  // millisecond of spinning in the window.
  double displaced_per_ms = 0;
  // What compute's threads may lose in a step before the device waits for them: it has work for so
  // much longer than they need to hand it over.
  double slack_us = 0;

  // Ranks that share the cores of their host (shared_core_sim.hpp); 0: each has its own, as above.
  int shared_cores = 0;
  double slice_us = 100;                // until a thread yields while others wait
  double switch_us = 1.5;               // to another thread
  double submit_us = 2.2;               // the application's part of a submission
  double look_us = 0.5;                 // to find that there is nothing to do
  double ring_us = 1.5;                 // to wake another thread
  double bucket_us = 3;                 // to join a bucket, and to end it
  double tensor_us = 2.4;               // for each tensor of a bucket
  double step_us = 20;                  // of the application, between steps

  // Processor time of the engine.
  double negotiate_us = 0.5;            // one look at the order
  double parse_ns_per_byte = 1;         // of a control message received
};

double standard_normal(Rng& rng);
double exponential(Rng& rng, double mean);

// The noise in the compute of one step on one rank.
struct StepNoise {
  float factor = 1;
  float stall_at = 2;                   // at this share of the compute; beyond 1 = none
  std::int64_t stall_ns = 0;
};
StepNoise step_noise(const HostModel& host, Rng& rng);
// The time from a timer's end to the thread's first instruction.
std::int64_t oversleep_ns(const HostModel& host, Rng& rng, double spin_share, bool in_window);
// What compute loses because the engine's thread spun for `spun_ns` of the window: its share of the
// cores, and rarely a stall.
std::int64_t displaced_ns(const HostModel& host, Rng& rng, std::int64_t spun_ns);
// Whether all cores are in use when the engine's thread spins in the window.
bool contended(const HostModel& host);

}  // namespace unisono::sim
