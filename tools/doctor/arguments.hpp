// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The command line of `unisono doctor`.
#pragma once

#include <string>
#include <vector>

#include "doctor/settings.hpp"

namespace unisono::tools {

struct DoctorArguments {
  DoctorSettings settings;
  int exit_code = -1;  // >= 0: nothing is left to do, exit with this
};

DoctorArguments parse_doctor_arguments(std::vector<std::string> arguments);

}  // namespace unisono::tools
