// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Reads the faults of a command line, which are texts of several numbers. Pure.
#pragma once

#include <string>
#include <vector>

#include "sim/workload/faults.hpp"
#include "unisono/status.hpp"

namespace unisono::tools {

struct FaultTexts {
  std::vector<std::string> stragglers;  // RANK=FACTOR
  std::vector<std::string> kills;       // RANK@MILLISECONDS
  std::vector<std::string> partitions;  // RANK@FROM-UNTIL
};
Status read_faults(const FaultTexts& line, sim::Faults& faults);

}  // namespace unisono::tools
