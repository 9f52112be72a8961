// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "simulate/sensitivity.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/data/text.hpp"
#include "simulate/play.hpp"
#include "text_table.hpp"

namespace unisono::tools {
namespace {

using nlohmann::ordered_json;

// Moves below this share of a figure are left out of the text.
constexpr double kWorthMention = 0.01;

double relative(double value, double base) {
  return base == 0 ? (value == 0 ? 0 : INFINITY) : value / base - 1;
}

double leverage(const Sensitivity& found, const Lever& lever, std::size_t figure) {
  return std::max(std::abs(relative(lever.halved[figure], found.base[figure])),
                  std::abs(relative(lever.doubled[figure], found.base[figure])));
}

std::string moved(double value, double base, const std::string& unit) {
  const double share = relative(value, base);
  if (unit == "%") return cat(fixed(value, 1), " (", value >= base ? "+" : "",
                              fixed(value - base, 1), " points)");
  return std::isfinite(share) ? cat(fixed(value, 2), " (", share >= 0 ? "+" : "",
                                    fixed(100 * share, 0), " %)")
                              : fixed(value, 2);
}

Answers of_study(const SeededStudy& study) {
  Answers answers;
  for (const sim::StudyRow& row : study.study.rows) {
    answers.figures.push_back(row.figure);
    answers.units.push_back(row.unit);
    answers.values.push_back(row.simulated);
  }
  return answers;
}

Result<Answers> of_rows(SimulateSettings settings, std::vector<SimulatedRow> rows,
                        const sim::Parameter* varied, double factor) {
  if (varied != nullptr) varied->scale(settings.base, factor);
  Answers answers;
  for (SimulatedRow& row : rows) {
    if (Status bad = play(settings, row, [](double) {}); !bad.ok()) return bad;
    if (!row.result.failure.ok()) return row.result.failure;
    const std::string what = row.order == "-" ? "" : cat(row.order, ", ", row.pacing, ", ");
    answers.figures.push_back(cat(what, row.planner, ", ", row.ranks, " ranks: step"));
    answers.units.push_back("ms");
    answers.values.push_back(row.step_ms.median);
  }
  return answers;
}

}  // namespace

Result<Sensitivity> sensitivity_of(std::span<const sim::Parameter> parameters,
                                   const AnswersWith& answers,
                                   const SensitivityProgress& progress) {
  Sensitivity found;
  progress(0, "as it is");
  auto base = answers(nullptr, 1);
  if (!base.ok()) return base.status();
  found.figures = std::move(base->figures);
  found.units = std::move(base->units);
  found.base = std::move(base->values);
  const double all = 1 + 2 * static_cast<double>(parameters.size());
  double done = 1;
  for (const sim::Parameter& each : parameters) {
    Lever lever{&each, {}, {}};
    for (const double factor : {0.5, 2.0}) {
      progress(done++ / all, cat(each.name, factor < 1 ? " halved" : " doubled"));
      auto varied = answers(&each, factor);
      if (!varied.ok()) return varied.status();
      (factor < 1 ? lever.halved : lever.doubled) = std::move(varied->values);
    }
    found.levers.push_back(std::move(lever));
  }
  return found;
}

Result<Sensitivity> find_sensitivity(const SimulateSettings& settings,
                                     const std::vector<SimulatedRow>& rows,
                                     const SensitivityProgress& progress) {
  if (settings.study.empty()) {
    return sensitivity_of(
        sim::assumed_parameters(),
        [&](const sim::Parameter* varied, double factor) {
          return of_rows(settings, rows, varied, factor);
        },
        progress);
  }
  return sensitivity_of(
      sim::assumed_parameters(settings.study),
      [&](const sim::Parameter* varied, double factor) -> Result<Answers> {
        auto study = play_study(settings, [](double, const std::string&) {}, varied, factor);
        if (!study.ok()) return study.status();
        return of_study(study.value());
      },
      progress);
}

std::string sensitivity_text(const SimulateSettings& settings, const Sensitivity& found) {
  TextTable parameters{{"parameter", "moves a figure by at most", "most", "source"}};
  for (const Lever& lever : found.levers) {
    std::size_t most = 0;
    for (std::size_t i = 1; i < found.figures.size(); ++i) {
      if (leverage(found, lever, i) > leverage(found, lever, most)) most = i;
    }
    const double move = found.figures.empty() ? 0 : leverage(found, lever, most);
    parameters.push_back({std::string(lever.parameter->name),
                          std::isfinite(move) ? fixed(100 * move, 1) + " %" : "from nothing",
                          move < kWorthMention ? "-" : found.figures[most],
                          std::string(lever.parameter->source)});
  }
  std::string each;
  for (std::size_t i = 0; i < found.figures.size(); ++i) {
    std::vector<const Lever*> order;
    for (const Lever& lever : found.levers) {
      if (leverage(found, lever, i) >= kWorthMention) order.push_back(&lever);
    }
    std::stable_sort(order.begin(), order.end(), [&](const Lever* a, const Lever* b) {
      return leverage(found, *a, i) > leverage(found, *b, i);
    });
    each += cat("\n", found.figures[i], ": ", fixed(found.base[i], 2), " ", found.units[i], "\n");
    if (order.empty()) each += "  no parameter moves it by 1 %\n";
    TextTable lines{{"  parameter", "halved", "doubled"}};
    for (const Lever* lever : order) {
      lines.push_back({cat("  ", lever->parameter->name),
                       moved(lever->halved[i], found.base[i], found.units[i]),
                       moved(lever->doubled[i], found.base[i], found.units[i])});
    }
    if (!order.empty()) each += aligned(lines, FirstColumn::text);
  }
  return cat("Every assumed parameter halved and doubled, the others as they are",
             settings.study.empty() ? "" : cat("; study ", settings.study), "; ", settings.seeds,
             settings.seeds == 1 ? " seed" : " seeds, medians", "\n\n",
             aligned(parameters, FirstColumn::text), each);
}

std::string sensitivity_json(const SimulateSettings& settings, const Sensitivity& found) {
  ordered_json levers = ordered_json::array();
  for (const Lever& lever : found.levers) {
    levers.push_back({{"parameter", lever.parameter->name},
                      {"source", lever.parameter->source},
                      {"halved", lever.halved},
                      {"doubled", lever.doubled}});
  }
  const ordered_json document{{"command", settings.command}, {"figures", found.figures},
                              {"units", found.units},        {"base", found.base},
                              {"sensitivity", levers}};
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace unisono::tools
