// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the ways between machines cost, kept in a file so that `unisono simulate --network measured`
// can say what they would give: bandwidth and round trip to other hosts and over loopback, and a
// copy in memory. Thread: one.
#pragma once

#include <string>
#include <vector>

#include "doctor/traffic.hpp"
#include "unisono/status.hpp"

namespace unisono::tools {

struct MeasuredCosts {
  std::vector<std::string> hosts;       // whose ways were measured
  Traffic wire;                         // to them: the medians; 0 where there was none
  Traffic loopback;
  double copy_gb_per_s = 0;
};

// In the user's folder for what can be made again.
std::string usual_costs_path();
std::string costs_json(const MeasuredCosts& costs);
// Makes the folder where it is missing. Whoever reads meanwhile sees the old file or the new one.
Status write_costs(const std::string& path, const MeasuredCosts& costs);
// The error names the file, what is wrong with it and how to make one.
Result<MeasuredCosts> read_costs(const std::string& path);

}  // namespace unisono::tools
