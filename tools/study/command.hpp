// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// `unisono study`: reads the command line, simulates or runs a program at several sizes, prints.
#pragma once

#include <string>
#include <vector>

namespace unisono::tools {

// arguments: those after `study`. Returns the exit code.
int study_command(std::vector<std::string> arguments);

}  // namespace unisono::tools
