// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/study/bench.hpp"

#include <algorithm>

namespace unisono::sim {

SimResult StudyBench::run(const std::string& name, SimSettings settings, int more) {
  settings.iterations = options_.iterations * more;
  settings.ranks = std::max(12, static_cast<int>(settings.ranks * options_.scale));
  return run_as_is(name, std::move(settings));
}

SimResult StudyBench::run_thinned(const std::string& name, SimSettings settings, int more) {
  const int simulated = std::max(std::min(settings.ranks, 96),
                                 static_cast<int>(settings.ranks * options_.scale));
  settings.stands_for = static_cast<double>(settings.ranks) / simulated;
  settings.ranks = simulated;
  settings.iterations = options_.iterations * more;
  return run_as_is(name, std::move(settings));
}

SimResult StudyBench::run_as_is(const std::string& name, SimSettings settings) {
  vary(settings);
  auto result = simulate(settings, [&](double done) {
    if (progress_) progress_((static_cast<double>(study.runs.size()) + done) / runs_, name);
  });
  if (status.ok() && !result.ok()) status = result.status();
  if (status.ok() && !result->failure.ok()) status = result->failure;
  study.runs.push_back({name, settings.ranks, settings.order, settings.pacing, settings.planner,
                        result.ok() ? std::move(result.value()) : SimResult{}});
  return study.runs.back().result;
}

void StudyBench::vary(SimSettings& settings) const {
  settings.seed = options_.seed;
  vary_parameter(settings);
}

void StudyBench::vary_parameter(SimSettings& settings) const {
  const Parameter* varied = options_.varied;
  if (varied != nullptr && varied->scale != nullptr) varied->scale(settings, options_.factor);
}

void StudyBench::row(std::string figure, std::string unit, double low, double high,
                     double simulated, std::string note) {
  study.rows.push_back({std::move(figure), std::move(unit), low, high, simulated, std::move(note)});
}

void StudyBench::unpublished(std::string figure, std::string unit, double simulated,
                             std::string note) {
  study.rows.push_back({std::move(figure), std::move(unit), 0, 0, simulated, std::move(note),
                        false});
}

void StudyBench::fitted(std::string figure, std::string unit, double published, double simulated,
                        std::string note) {
  study.rows.push_back({std::move(figure), std::move(unit), published, published, simulated,
                        std::move(note), true, true});
}

SimSettings with_order(SimSettings settings, const char* order, const char* pacing) {
  settings.order = order;
  settings.pacing = pacing;
  if (settings.order == "topo") settings.warm_up = -1;
  return settings;
}

SimSettings with_groups(SimSettings settings, int groups) {
  settings.groups = groups;
  settings.planner = groups > 0 ? "groups" : "threshold";
  return settings;
}

}  // namespace unisono::sim
