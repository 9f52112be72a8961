// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The command line of `unisono study`.
#pragma once

#include <string>
#include <vector>

#include "study/settings.hpp"

namespace unisono::tools {

struct ScalingArguments {
  ScalingSettings settings;
  int exit_code = -1;                        // >= 0: nothing is left to do, exit with this
};

ScalingArguments parse_study_arguments(std::vector<std::string> arguments);

}  // namespace unisono::tools
