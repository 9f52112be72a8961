// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Everything that is looked at on this machine. Takes about two seconds; no step waits without a
// limit. No other thread may run when it is called.
#pragma once

#include <string>
#include <vector>

#include "bench/machine.hpp"
#include "doctor/checks/speed.hpp"
#include "doctor/finding.hpp"

namespace unisono::tools {

struct Examination {
  Machine machine;
  std::string host;
  std::vector<Finding> findings;
  OwnSpeed speed;
};

Examination examine_this_machine(const Progress& progress);

}  // namespace unisono::tools
