// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/network/host.hpp"

#include <cmath>
#include <numbers>

#include "sim/virtual_time.hpp"

namespace unisono::sim {

double standard_normal(Rng& rng) {
  const double radius = std::sqrt(-2 * std::log(1 - rng.uniform()));
  return radius * std::cos(2 * std::numbers::pi * rng.uniform());
}

double exponential(Rng& rng, double mean) { return -mean * std::log(1 - rng.uniform()); }

StepNoise step_noise(const HostModel& host, Rng& rng) {
  StepNoise noise;
  noise.factor = static_cast<float>(std::exp(host.jitter_sigma * standard_normal(rng)));
  // All numbers are drawn in any case, so that one seed gives all strategies the same noise.
  const double dice = rng.uniform(), at = rng.uniform();
  const double stall_ms = exponential(rng, host.stall_mean_ms);
  if (dice < host.stall_probability) {
    noise.stall_at = static_cast<float>(at);
    noise.stall_ns = to_ns(stall_ms * 1e3);
  }
  return noise;
}

std::int64_t oversleep_ns(const HostModel& host, Rng& rng, double spin_share, bool in_window) {
  double late_us = exponential(rng, host.timer_slack_us);
  const double dice = rng.uniform();
  const double long_us = exponential(rng, host.oversleep_mean_ms) * 1e3;
  if (in_window && contended(host) && dice < host.oversleep_probability * spin_share) {
    late_us += long_us;
  }
  return to_ns(late_us);
}

std::int64_t displaced_ns(const HostModel& host, Rng& rng, std::int64_t spun_ns) {
  if (spun_ns <= 0 || !contended(host)) return 0;
  const double share = 1 - host.cores_per_rank / (host.busy_threads + 1);
  const auto shared = static_cast<std::int64_t>(share * static_cast<double>(spun_ns));
  if (host.displaced_per_ms <= 0) return shared;
  const double chance = host.displaced_per_ms * static_cast<double>(spun_ns) * 1e-6;
  return shared + (rng.uniform() < chance ? to_ns(exponential(rng, host.stall_mean_ms) * 1e3) : 0);
}

bool contended(const HostModel& host) {
  return !host.partitioned && host.busy_threads + 1 > host.cores_per_rank;
}

}  // namespace unisono::sim
