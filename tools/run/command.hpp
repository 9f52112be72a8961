// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// `unisono run`: reads the command line, checks everything that can be checked before a process is
// started, runs the job, prints the verdict.
#pragma once

#include <string>
#include <vector>

namespace unisono::tools {

// arguments: those after `run`. Returns the exit code.
int run_command(std::vector<std::string> arguments);

}  // namespace unisono::tools
