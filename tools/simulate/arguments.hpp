// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The command line of `unisono simulate`.
#pragma once

#include <string>
#include <vector>

#include "simulate/settings.hpp"

namespace unisono::tools {

struct SimulateArguments {
  SimulateSettings settings;
  int exit_code = -1;                        // >= 0: nothing is left to do, exit with this
};

SimulateArguments parse_simulate_arguments(std::vector<std::string> arguments);

}  // namespace unisono::tools
