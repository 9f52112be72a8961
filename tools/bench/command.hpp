// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// `unisono bench`: reads the command line, measures, prints.
#pragma once

#include <string>
#include <vector>

namespace unisono::tools {

// arguments: those after `bench`. Returns the exit code.
int bench_command(std::vector<std::string> arguments);

}  // namespace unisono::tools
