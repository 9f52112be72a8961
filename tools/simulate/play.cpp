// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "simulate/play.hpp"

#include <algorithm>
#include <cmath>

#include "base/data/text.hpp"
#include "sim/timeline/timeline_step.hpp"

namespace unisono::tools {
namespace {

Result<sim::SimResult> play_once(const SimulateSettings& settings, const sim::SimSettings& one,
                                 const sim::Progress& progress) {
  if (settings.engine == SimulateEngine::events) return sim::simulate(one, progress);
  progress(0);
  return sim::timeline_step(one);
}

// The run whose step is the median, or the lower of the two in the middle.
const sim::SimResult& middle_of(std::vector<sim::SimResult>& runs) {
  const auto middle = runs.begin() + static_cast<std::ptrdiff_t>((runs.size() - 1) / 2);
  std::nth_element(runs.begin(), middle, runs.end(),
                   [](const auto& a, const auto& b) { return a.step_ms < b.step_ms; });
  return *middle;
}

}  // namespace

Result<sim::Workload> workload_for(const SimulateSettings& settings, int ranks) {
  sim::Workload workload = settings.base.workload;
  if (settings.global_batch == 0) return workload;
  if (ranks > settings.global_batch) {
    return Status(Code::invalid_argument, cat("a global batch of ", settings.global_batch,
                                              " leaves some of ", ranks, " ranks without work"));
  }
  const auto each = (settings.global_batch + ranks - 1) / ranks;
  return sim::with_batch(std::move(workload), static_cast<double>(each), settings.fixed_share);
}

Status play(const SimulateSettings& settings, SimulatedRow& row, const sim::Progress& progress) {
  auto workload = workload_for(settings, row.ranks);
  if (!workload.ok()) return workload.status();
  sim::SimSettings one = settings.base;
  one.workload = std::move(workload.value());
  one.ranks = row.ranks;
  one.planner = row.planner;
  one.order = row.order;
  one.pacing = row.pacing;
  row.batch = one.workload.batch;
  row.step_each_ms.clear();
  // On a timeline nothing is drawn, so that all seeds would give the same.
  const int seeds = settings.engine == SimulateEngine::timeline ? 1 : settings.seeds;
  std::vector<sim::SimResult> runs;
  std::vector<double> efficiencies;
  for (int i = 0; i < seeds; ++i) {
    one.seed = settings.base.seed + static_cast<std::uint64_t>(i);
    auto result = play_once(settings, one,
                            [&](double done) { progress((i + done) / seeds); });
    if (!result.ok()) return result.status();
    if (!result->failure.ok()) {
      row.result = std::move(result.value());
      return {};
    }
    row.step_each_ms.push_back(result->step_ms);
    efficiencies.push_back(result->efficiency);
    runs.push_back(std::move(result.value()));
  }
  row.step_ms = spread_of(row.step_each_ms);
  row.efficiency = spread_of(std::move(efficiencies));
  row.result = middle_of(runs);
  return {};
}

Result<SeededStudy> play_study(const SimulateSettings& settings,
                               const sim::StudyProgress& progress, const sim::Parameter* varied,
                               double factor) {
  SeededStudy seeded;
  std::vector<std::vector<double>> values;
  for (int i = 0; i < settings.seeds; ++i) {
    auto study = sim::run_study(
        settings.study,
        {settings.base.seed + static_cast<std::uint64_t>(i), settings.base.iterations,
         settings.study_scale, varied, factor},
        [&](double done, const std::string& now) { progress((i + done) / settings.seeds, now); });
    if (!study.ok()) return study.status();
    values.resize(study->rows.size());
    for (std::size_t row = 0; row < values.size(); ++row) {
      values[row].push_back(study->rows[row].simulated);
    }
    if (i == 0) seeded.study = std::move(study.value());
  }
  for (std::size_t row = 0; row < values.size(); ++row) {
    seeded.simulated.push_back(spread_of(std::move(values[row])));
    seeded.study.rows[row].simulated = seeded.simulated.back().median;
  }
  return seeded;
}

}  // namespace unisono::tools
