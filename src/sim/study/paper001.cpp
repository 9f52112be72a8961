// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Load imbalance on Summit (Pumma et al.). One parameter is fitted, to one row: how often a thread
// that spins displaces compute, to the most that TOPO gains for ResNet-50 on any number of GPUs.
#include <algorithm>

#include "base/data/text.hpp"
#include "sim/study/bench.hpp"

namespace unisono::sim {
namespace {

constexpr int kSizes[] = {96, 768, 6144, 24576};
constexpr double kResnetMs = 40;        // 32 images in mixed precision

struct Network001 {
  const char *name, *model;
  int nodes;                            // of its graph, table I
  double window;                        // published, of a step; 0: not
  double low, high;                     // published gains, in %
};
constexpr Network001 kNetworks[] = {{"ResNet-18", "resnet18", 1714, 0.46, 5, 21},
                                    {"ResNet-34", "resnet34", 2866, 0.55, 5, 21},
                                    {"ResNet-50", "resnet50", 3988, 0.48, 5, 21},
                                    {"ResNet-101", "resnet101", 7558, 0.30, 5, 21},
                                    {"ResNet-152", "resnet152", 11128, 0.23, 5, 21},
                                    {"GoogLeNet", "googlenet", 3499, 0.56, 25, 35},
                                    {"Inception-v3", "inception-v3", 6146, 0.42, 10, 18},
                                    {"VGG16", "vgg16", 1091, 0.32, 2, 6},
                                    {"AlexNet", "alexnet", 655, 0, -6, -6}};
constexpr const Network001& kResnet50 = kNetworks[2];
constexpr double kImages = 32;          // of a GPU in a step, V-A

double v100_ms(std::string_view model) {
  for (const ModelRow& row : model_table()) {
    if (row.name != model) continue;
    for (const StepTime& time : row.times) {
      if (time.device == "v100") return time.ms;
    }
  }
  return 0;
}

// The host dispatches the nodes of the graph while the GPU computes them, and the longer of the two
// is the step's compute. What a node takes follows from ResNet-50; what the GPU takes is in
// proportion to single precision, and to the images.
double dispatch_ms(const Network001& network) {
  return kResnetMs * network.nodes / kResnet50.nodes;
}
double gpu_ms(const Network001& network, double images) {
  return kResnetMs * v100_ms(network.model) / v100_ms("resnet50") * images / kImages;
}

// The step is compiled as a whole, so gradients come at its end.
SimSettings compiled(const Network001& network, int ranks, double images = kImages) {
  SimSettings s = summit_settings();
  const double dispatch = dispatch_ms(network), gpu = gpu_ms(network, images);
  const double ms = std::max(dispatch, gpu);
  s.workload = make_workload(network.model, ms).value();
  s.workload.batch = images;
  hand_over_at_end(s.workload);
  s.host.slack_us = 1e3 * (ms - dispatch);
  // Where no window is published all of a step's compute is in it: the input is the same.
  s.host.window = network.window > 0 ? network.window : 1;
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
  struct Greatest {
    double gs = -100, nbcs = -100, scp = -100, topo = -100;
  } greatest;
  for (const int ranks : kSizes) {
    const std::string at = digits(ranks);
    const SimSettings s = compiled(kResnet50, ranks);
    const int more = more_steps(ranks);
    const Pair pair = run_pair(bench, at, s, more);
    const SimResult gs = bench.run_thinned(at + ", gs", with_order(s, "cache", "gs"), more);
    const SimResult nbcs = bench.run_thinned(at + ", nbcs", with_order(s, "cache", "nbcs"), more);
    SimSettings scp = with_order(s, "cache", "cycle");
    scp.host.partitioned = true;
    const SimResult apart = bench.run_thinned(at + ", scp", scp, more);
    const auto gain = [&](const SimResult& r) {
      return 100 * (pair.cycle.step_ms / r.step_ms - 1);
    };
    greatest.gs = std::max(greatest.gs, gain(gs));
    greatest.nbcs = std::max(greatest.nbcs, gain(nbcs));
    greatest.scp = std::max(greatest.scp, gain(apart));
    greatest.topo = std::max(greatest.topo, pair.gain());
    bench.unpublished(cat("efficiency at ", at, ", cycle"), "", pair.cycle.efficiency);
    bench.unpublished(cat("efficiency at ", at, ", topo"), "", pair.topo.efficiency);
    bench.unpublished(cat("GS at ", at), "%", gain(gs));
    bench.unpublished(cat("NBCS at ", at), "%", gain(nbcs));
    bench.unpublished(cat("SCP at ", at), "%", gain(apart));
    bench.unpublished(cat("TOPO at ", at), "%", pair.gain());
    if (ranks != kSizes[3]) continue;
    bench.row("slower than linear at 24,576, cycle", "x", 3.3, 3.3, 1 / pair.cycle.efficiency);
    bench.row("background overhead at 24,576, cycle", "%", 46, 46,
              100 * pair.cycle.background_share);
    bench.row("background overhead at 24,576, topo", "%", 3.4, 3.4,
              100 * pair.topo.background_share);
  }
  bench.row("GS: greatest gain", "%", 10, 10, greatest.gs);
  bench.row("NBCS: greatest gain", "%", 16, 16, greatest.nbcs);
  bench.row("SCP: greatest gain", "%", 18, 18, greatest.scp);
  bench.fitted("TOPO: greatest gain", "%", 21, greatest.topo,
               "how often spinning displaces compute is fitted here");
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
    const int images = kBatch / ranks;
    const Pair at = run_pair(bench, cat("batch of ", images), compiled(kResnet50, ranks, images),
                             more_steps(ranks));
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
