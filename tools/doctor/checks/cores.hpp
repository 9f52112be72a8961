// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The CPUs that ranks of this machine get. Pure, but for check_cores().
#pragma once

#include <optional>
#include <vector>

#include "doctor/finding.hpp"

namespace unisono::tools {

struct CpuFacts {
  std::vector<int> online;      // empty: not known
  std::vector<int> allowed;     // by the affinity mask
  std::optional<double> quota;  // CPUs' worth of time that the cgroup grants; nothing: no limit
};

Finding judge_cores(const CpuFacts& facts);
Finding check_cores();

}  // namespace unisono::tools
