// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A study as a table for people, as JSON for scripts and as a picture. Pure.
#pragma once

#include <string>

#include "study/scaling.hpp"

namespace unisono::tools {

std::string_view kind_name(ScalingKind kind);
std::string scaling_table(const ScalingSettings& settings, const Scaling& scaling);
std::string scaling_json(const ScalingSettings& settings, const Scaling& scaling);
// Ranks against the figure, both logarithmic, with what the first point promises beside it.
std::string scaling_svg(const ScalingSettings& settings, const Scaling& scaling);

}  // namespace unisono::tools
