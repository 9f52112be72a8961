// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What was simulated as a picture: ranks against the time of a step, one line per strategy. Pure;
// the text is a complete SVG document.
#pragma once

#include <string>
#include <vector>

#include "simulate/report.hpp"

namespace unisono::tools {

std::string steps_svg(const SimulateSettings& settings, const std::vector<SimulatedRow>& rows);

}  // namespace unisono::tools
