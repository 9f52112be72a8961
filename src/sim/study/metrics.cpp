// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/study/metrics.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace unisono::sim {
namespace {

double ms(double ns) { return ns * 1e-6; }
// Below this share of a step communication does not limit it.
constexpr double kComputeBound = 0.05;

}  // namespace

void Metrics::bucket_done(const FlyingBucket& bucket, std::int64_t channel_was_free_ns) {
  ++step_.buckets;
  step_.latency_us += bucket.cost.latency_us;
  step_.bandwidth_us += bucket.cost.bandwidth_us;
  const std::int64_t possible = std::max(step_.ready_ns, channel_was_free_ns);
  if (step_.ready_ns != 0 && bucket.full_ns > possible) {
    step_.control_ns += bucket.full_ns - possible;
  }
}

void Metrics::end_step(std::int64_t now) {
  step_.end_ns = now;
  if (ended_++ >= warm_up_) measured_.push_back(step_);
}

void Metrics::summarise(SimResult& result) const {
  result.steps = static_cast<int>(measured_.size());
  if (measured_.empty()) return;
  const double count = static_cast<double>(measured_.size());
  std::vector<double> steps;
  double idle = 0, spin = 0, all = 0;
  for (const Step& step : measured_) {
    const double whole = static_cast<double>(step.end_ns - step.begin_ns);
    const double late = static_cast<double>(step.ready_ns - step.begin_ns - compute_ns_);
    const double control = static_cast<double>(step.control_ns);
    const double data = std::max(static_cast<double>(step.end_ns - step.ready_ns) - control, 0.0);
    const double wire = std::max(step.latency_us + step.bandwidth_us, 1e-9);
    steps.push_back(ms(whole));
    all += whole;
    result.exposed_ms += ms(whole - static_cast<double>(compute_ns_)) / count;
    result.straggler_ms += ms(std::max(late, 0.0)) / count;
    result.control_ms += ms(control) / count;
    result.negotiation_ms +=
        ms(static_cast<double>(std::max<std::int64_t>(step.agreed_ns - step.submit_ns, 0))) / count;
    result.latency_ms += ms(data * step.latency_us / wire) / count;
    result.bandwidth_ms += ms(data * step.bandwidth_us / wire) / count;
    result.control_messages += static_cast<double>(step.messages) / count;
    result.control_bytes += static_cast<double>(step.bytes) / count;
    result.buckets += static_cast<double>(step.buckets) / count;
    idle += static_cast<double>(step.idle_ns);
    spin += static_cast<double>(step.spin_ns);
  }
  if (!negotiated_ns_.empty()) {
    std::vector<std::int64_t> all_ns = negotiated_ns_;
    const auto middle = all_ns.begin() + static_cast<std::ptrdiff_t>(all_ns.size() / 2);
    std::nth_element(all_ns.begin(), middle, all_ns.end());
    result.negotiation_ms = ms(static_cast<double>(*middle));
  }
  std::sort(steps.begin(), steps.end());
  const auto at = [&](double q) { return steps[static_cast<std::size_t>(q * (count - 1) + 0.5)]; };
  result.step_ms = ms(all) / count;
  result.step_p10_ms = at(0.1);
  result.step_p90_ms = at(0.9);
  result.efficiency = ms(static_cast<double>(compute_ns_)) / result.step_ms;
  result.background_share = idle / all / ranks_;
  result.spin_share = spin / all / ranks_;
  result.limited_by = limit_of(result);
}

std::string limit_of(const SimResult& r) {
  const std::array<std::pair<double, const char*>, 4> parts = {{{r.straggler_ms, "straggler"},
                                                                {r.control_ms, "control"},
                                                                {r.latency_ms, "latency"},
                                                                {r.bandwidth_ms, "bandwidth"}}};
  const auto worst = std::max_element(parts.begin(), parts.end());
  return r.exposed_ms < kComputeBound * r.step_ms ? "compute" : worst->second;
}

}  // namespace unisono::sim
