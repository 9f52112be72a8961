// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// `unisono simulate`: reads the command line, simulates, prints.
#pragma once

#include <string>
#include <vector>

namespace unisono::tools {

// arguments: those after `simulate`. Returns the exit code.
int simulate_command(std::vector<std::string> arguments);

}  // namespace unisono::tools
