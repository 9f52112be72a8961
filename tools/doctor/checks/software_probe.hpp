// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Asks this machine which software it has. Each command that is asked has a limit of its own.
#pragma once

#include <string>
#include <vector>

#include "doctor/checks/software.hpp"
#include "processes/child.hpp"

namespace unisono::tools {

// The Python of the active virtual environment, else that of the one this command is installed in,
// else python3 of PATH; "" when there is none.
std::string choose_python();

// Adds what it finds to versions.
std::vector<Finding> check_software(Versions& versions, const Tick& tick);

}  // namespace unisono::tools
