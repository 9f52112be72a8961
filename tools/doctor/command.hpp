// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// `unisono doctor`: examines this machine and others, prints what is wrong and how to mend it.
#pragma once

#include <string>
#include <vector>

namespace unisono::tools {

// arguments: those after `doctor`. Returns the exit code.
int doctor_command(std::vector<std::string> arguments);

}  // namespace unisono::tools
