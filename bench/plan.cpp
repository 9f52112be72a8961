// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What arranging a whole iteration takes, per planner and number of tensors, and how far the greedy
// rule is from the best arrangement on random iterations (its counters, in percent).
//
//   bench_plan [--benchmark_filter=Merged]
#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

#include "base/data/rng.hpp"
#include "plan/iteration/rows.hpp"

namespace {

using namespace unisono;
using namespace unisono::plan;

std::vector<IterationTensor> tensors_of(Rng& rng, std::size_t count, double apart_s = 1) {
  std::vector<IterationTensor> tensors(count);
  double ready = 0;
  for (IterationTensor& tensor : tensors) {
    ready += apart_s * rng.uniform();
    tensor = {ready, static_cast<std::int64_t>(rng.below(1000)), rng.uniform(), -1};
  }
  return tensors;
}

const Line kLine{1.0, 1e-3};

// With apart_s 0 all tensors are ready at once, so that merged has to look at all pairs.
void Planner(benchmark::State& state, const IterationRow* row, const SizeCost* cost,
             double apart_s) {
  Rng rng(1);
  const auto tensors = tensors_of(rng, static_cast<std::size_t>(state.range(0)), apart_s);
  const Method methods[] = {{"none", cost}};
  const auto planner = row->make({});
  for (auto _ : state) benchmark::DoNotOptimize(planner->arrange({tensors, methods}));
}

// A cost that is no line.
const PointsCost& measured_points() {
  static const PointsCost kPoints({{8, 0.9}, {4096, 1.0}, {65536, 20.0}, {262144, 70.0}});
  return kPoints;
}

// Small iterations with times, sizes and latency of like magnitude, and the rule against the best.
void GreedyLoses(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  Rng rng(2);
  double cases = 0, lost = 0, all = 0, worst = 0;
  for (auto _ : state) {
    const auto tensors = tensors_of(rng, count);
    const LineCost cost({2 * rng.uniform(), 2e-3 * rng.uniform()});
    const Method methods[] = {{"none", &cost}};
    const IterationProblem problem{tensors, methods};
    const double more = arrange_greedy(problem, {}).finish_s /
                            arrange_merged(problem, {}).finish_s - 1;
    cases += 1;
    if (more > 1e-9) lost += 1, all += more;
    worst = std::max(worst, more);
  }
  state.counters["lost_pct"] = 100 * lost / cases;
  state.counters["then_by_pct"] = lost > 0 ? 100 * all / lost : 0;
  state.counters["worst_pct"] = 100 * worst;
}

}  // namespace

int main(int argc, char** argv) {
  static const LineCost kCost(kLine);
  for (const IterationRow& row : iteration_table()) {
    const std::string name(row.name);
    auto* bench = benchmark::RegisterBenchmark((name + "/line").c_str(), Planner, &row, &kCost, 1);
    bench->Arg(161)->Unit(benchmark::kMicrosecond);
    if (name != "merged-methods") bench->Arg(10'000);
  }
  for (const IterationRow& row : iteration_table()) {
    const std::string name(row.name);
    if (!name.starts_with("merged") && name != "two-phase") continue;
    for (const double apart_s : {1.0, 0.0}) {
      const std::string at = name + (apart_s > 0 ? "/points" : "/points, all at once");
      benchmark::RegisterBenchmark(at.c_str(), Planner, &row, &measured_points(), apart_s)
          ->Arg(161)->Arg(1000)->Unit(benchmark::kMicrosecond);
    }
  }
  benchmark::RegisterBenchmark("greedy-against-merged", GreedyLoses)
      ->Arg(3)->Arg(8)->Arg(16)->Arg(64)->Iterations(100'000)->Unit(benchmark::kMicrosecond);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
