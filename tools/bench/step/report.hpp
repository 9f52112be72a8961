// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The results of `unisono bench step` as a table for people, as JSON for scripts, and as a picture
// with a bar for each planner. Pure; the picture is a complete SVG document.
#pragma once

#include <string>

#include "bench/machine.hpp"
#include "bench/step/results.hpp"
#include "bench/step/settings.hpp"

namespace unisono::tools {

std::string step_table(const StepSettings& settings, const Machine& machine,
                       const StepResults& results);
std::string step_json(const StepSettings& settings, const Machine& machine,
                      const StepResults& results);
// The step that was replayed, in the compact form of traces.
std::string profile_json(const sim::Workload& profile);
std::string step_svg(const StepSettings& settings, const Machine& machine,
                     const StepResults& results);

}  // namespace unisono::tools
