// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Load imbalance on Summit (Pumma et al.). One parameter is fitted, to one row: how often a thread
// that spins displaces compute, to what TOPO gains for ResNet-50 on 24,576 GPUs.
#include <algorithm>

#include "base/data/text.hpp"
#include "sim/study/bench.hpp"

namespace unisono::sim {
namespace {

constexpr int kSizes[] = {96, 768, 6144, 24576};
constexpr double kResnetMs = 40;        // 32 images in mixed precision

struct Network001 {
  const char *name, *model;
  double window;                        // published; 0: not
  double low, high;                     // published gains, in %
};
constexpr Network001 kNetworks[] = {
    {"ResNet-18", "resnet18", 0.46, 5, 21},   {"ResNet-34", "resnet34", 0.55, 5, 21},
    {"ResNet-50", "resnet50", 0.48, 5, 21},   {"ResNet-101", "resnet101", 0.30, 5, 21},
    {"ResNet-152", "resnet152", 0.23, 5, 21}, {"GoogLeNet", "googlenet", 0.56, 25, 35},
    {"Inception-v3", "inception-v3", 0.42, 10, 18}, {"VGG16", "vgg16", 0.32, 2, 6},
    {"AlexNet", "alexnet", 0, -6, -6}};
constexpr const Network001& kResnet50 = kNetworks[2];

double v100_ms(std::string_view model) {
  for (const ModelRow& row : model_table()) {
    if (row.name != model) continue;
    for (const StepTime& time : row.times) {
      if (time.device == "v100") return time.ms;
    }
  }
  return 0;
}

// The step is compiled as a whole, so gradients come at its end. Other networks take as much longer
// or shorter than ResNet-50 as in single precision.
SimSettings compiled(const Network001& network, int ranks) {
  SimSettings s = summit_settings();
  const double ms = kResnetMs * v100_ms(network.model) / v100_ms("resnet50");
  s.workload = make_workload(network.model, ms).value();
  s.workload.batch = 32;
  hand_over_at_end(s.workload);
  // Where no window is published it is as many milliseconds as ResNet-50's: the input is the same.
  s.host.window = network.window > 0 ? network.window
                                     : std::min(1.0, kResnet50.window * kResnetMs / ms);
  s.ranks = ranks;
  return s;
}

int more_steps(int ranks) { return std::clamp(6144 / ranks, 1, 8); }

std::string digits(int ranks) {
  return ranks < 1000 ? cat(ranks) : cat(ranks / 1000, ",", ranks % 1000 / 100, ranks / 10 % 10,
                                         ranks % 10);
}

struct Pair {
  SimResult cycle, topo;
  double gain() const { return 100 * (cycle.step_ms / topo.step_ms - 1); }
};
Pair run_pair(StudyBench& bench, const std::string& name, const SimSettings& s, int more) {
  return {bench.run_thinned(name + ", cycle", with_order(s, "cache", "cycle"), more),
          bench.run_thinned(name + ", topo", with_order(s, "topo", "event"), more)};
}

}  // namespace

void study_paper001(StudyBench& bench) {
  const SimSettings s = compiled(kResnet50, kSizes[3]);
  const Pair most = run_pair(bench, "24,576", s, 1);
  const SimResult gs = bench.run_thinned("24,576, gs", with_order(s, "cache", "gs"));
  const SimResult nbcs = bench.run_thinned("24,576, nbcs", with_order(s, "cache", "nbcs"));
  SimSettings scp = with_order(s, "cache", "cycle");
  scp.host.partitioned = true;
  const SimResult apart = bench.run_thinned("24,576, scp", scp);
  const auto gain = [&](const SimResult& r) { return 100 * (most.cycle.step_ms / r.step_ms - 1); };
  bench.row("slower than linear, cycle", "x", 3.3, 3.3, 1 / most.cycle.efficiency);
  bench.row("GS", "%", 10, 10, gain(gs), "published as up to");
  bench.row("NBCS", "%", 16, 16, gain(nbcs), "published as up to");
  bench.row("SCP", "%", 18, 18, gain(apart), "published as up to");
  bench.fitted("TOPO", "%", 21, most.gain(), "how often spinning displaces compute is fitted here");
  bench.row("background overhead, cycle", "%", 46, 46, 100 * most.cycle.background_share);
  bench.row("background overhead, topo", "%", 3.4, 3.4, 100 * most.topo.background_share);
  for (const int ranks : {kSizes[0], kSizes[1], kSizes[2]}) {
    const Pair at = run_pair(bench, digits(ranks), compiled(kResnet50, ranks), more_steps(ranks));
    bench.unpublished(cat("efficiency at ", digits(ranks), ", cycle"), "", at.cycle.efficiency);
    bench.unpublished(cat("efficiency at ", digits(ranks), ", topo"), "", at.topo.efficiency);
    bench.unpublished(cat("TOPO at ", digits(ranks)), "%", at.gain());
  }
  bench.unpublished("efficiency at 24,576, cycle", "", most.cycle.efficiency);
  bench.unpublished("efficiency at 24,576, topo", "", most.topo.efficiency);
}

void study_paper001_models(StudyBench& bench) {
  double last = 0;
  int smaller_gains_more = 0;
  for (const Network001& network : kNetworks) {
    const std::string_view name = network.name;
    double greatest = -100, least = 1e9, sum = 0;
    for (const int ranks : kSizes) {
      const double gain = run_pair(bench, cat(name, " ", digits(ranks)), compiled(network, ranks),
                                   more_steps(ranks)).gain();
      greatest = std::max(greatest, gain);
      least = std::min(least, gain);
      sum += gain / std::size(kSizes);
    }
    const bool resnet = name.starts_with("ResNet");
    const double low = resnet ? network.low : network.high;
    bench.row(cat(name, ": greatest gain"), "%", low, network.high, greatest,
              cat("between sizes ", static_cast<int>(least), " to ", static_cast<int>(greatest),
                  " %, mean ", static_cast<int>(sum)));
    if (name == "GoogLeNet") bench.row("GoogLeNet: mean gain", "%", 25, 25, sum);
    if (resnet && network.model != std::string_view("resnet18") && greatest < last) {
      ++smaller_gains_more;
    }
    if (resnet) last = greatest;
    if (name == "ResNet-152") {
      bench.row("ResNets: neighbours of which the smaller gains more, of 4", "", 3, 4,
                smaller_gains_more, "published as a tendency");
    }
  }
}

void study_paper001_strong(StudyBench& bench) {
  constexpr int kBatch = 24576;
  double greatest = -100, rate_before = 0, rate_after = 0;
  for (const int ranks : {96, 384, 1536, 6144, 24576}) {
    SimSettings s = compiled(kResnet50, ranks);
    s.workload = with_batch(std::move(s.workload), kBatch / ranks);
    const Pair at = run_pair(bench, cat("batch of ", kBatch / ranks), s, more_steps(ranks));
    bench.unpublished(cat("TOPO at ", digits(ranks)), "%", at.gain());
    greatest = std::max(greatest, at.gain());
    if (ranks == 1536) rate_before = kBatch / at.topo.step_ms;
    if (ranks == 6144) rate_after = kBatch / at.topo.step_ms;
  }
  bench.row("greatest gain of TOPO", "%", 19, 19, greatest, "published as up to");
  bench.row("images/s at 6,144 over 1,536", "x", 0.8, 1, rate_after / rate_before,
            "published as a slight drop");
}

}  // namespace unisono::sim
