// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Summarises a run: one entry per step, then means over the measured steps.
// Thread: the simulation's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/network/data_plane.hpp"
#include "sim/simulation.hpp"

namespace unisono::sim {

// What limits a step, from the parts of what is exposed of it.
std::string limit_of(const SimResult& result);

class Metrics {
 public:
  Metrics(std::int64_t compute_ns, int warm_up, int ranks)
      : compute_ns_(compute_ns), warm_up_(warm_up), ranks_(ranks) {}

  void begin_step(std::int64_t now) { step_ = Step{.begin_ns = now}; }
  void compute_done(std::int64_t now) { step_.ready_ns = now; }
  void bucket_done(const FlyingBucket& bucket, std::int64_t channel_was_free_ns);
  // Adds time in which the GPU was idle between a rank's compute and its next bucket.
  void idle(std::int64_t ns) { step_.idle_ns += ns; }
  void spun(std::int64_t ns) { step_.spin_ns += ns; }
  void message(std::size_t bytes) { ++step_.messages, step_.bytes += bytes; }
  void submitted(std::int64_t now) { step_.submit_ns = std::min(step_.submit_ns, now); }
  void agreed(std::int64_t now) { step_.agreed_ns = std::max(step_.agreed_ns, now); }
  // One rank's step took `ns` from its first submission to its last response.
  void negotiated(int step, std::int64_t ns) {
    if (step >= warm_up_) negotiated_ns_.push_back(ns);
  }
  void end_step(std::int64_t now);
  int steps() const { return ended_; }

  void summarise(SimResult& result) const;

 private:
  struct Step {
    std::int64_t begin_ns = 0, ready_ns = 0, end_ns = 0;
    std::int64_t submit_ns = INT64_MAX, agreed_ns = 0;  // the first and the last, of all ranks
    std::int64_t control_ns = 0;        // all were ready and the channel free, yet nothing ran
    double latency_us = 0, bandwidth_us = 0;
    std::int64_t idle_ns = 0, spin_ns = 0;
    std::uint64_t messages = 0, bytes = 0, buckets = 0;
  };

  const std::int64_t compute_ns_;
  const int warm_up_, ranks_;
  int ended_ = 0;
  Step step_;
  std::vector<Step> measured_;
  std::vector<std::int64_t> negotiated_ns_;  // where ranks report it: per rank and step
};

}  // namespace unisono::sim
