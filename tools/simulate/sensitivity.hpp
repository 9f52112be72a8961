// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How far each answer moves when one assumed parameter is halved or doubled and all others stay: what
// an answer is worth depends on it. Thread: one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "simulate/report.hpp"
#include "unisono/status.hpp"

namespace unisono::tools {

struct Lever {
  const sim::Parameter* parameter = nullptr;
  std::vector<double> halved, doubled;  // every figure
};
struct Sensitivity {
  std::vector<std::string> figures, units;
  std::vector<double> base;
  std::vector<Lever> levers;
};

// Answers as figures with values; which parameter is varied and by what factor, or null and 1.
struct Answers {
  std::vector<std::string> figures, units;
  std::vector<double> values;
};
using AnswersWith = std::function<Result<Answers>(const sim::Parameter* varied, double factor)>;
using SensitivityProgress = std::function<void(double done, const std::string& now)>;

Result<Sensitivity> sensitivity_of(std::span<const sim::Parameter> parameters,
                                   const AnswersWith& answers, const SensitivityProgress& progress);
// Of the settings' study, or else of the step times of these rows.
Result<Sensitivity> find_sensitivity(const SimulateSettings& settings,
                                     const std::vector<SimulatedRow>& rows,
                                     const SensitivityProgress& progress);

std::string sensitivity_text(const SimulateSettings& settings, const Sensitivity& found);
std::string sensitivity_json(const SimulateSettings& settings, const Sensitivity& found);

}  // namespace unisono::tools
