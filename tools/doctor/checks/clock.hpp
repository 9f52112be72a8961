// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The clocks of this machine. Pure, but for check_clocks().
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "doctor/finding.hpp"

namespace unisono::tools {

// The texts of current_clocksource and available_clocksource.
Finding judge_clock_source(std::string_view current, std::string_view available);

struct ClockSync {
  bool known = false;         // the kernel answered
  bool synchronised = false;  // something, such as chrony, steers the wall clock
  std::int64_t max_error_us = 0;
};
Finding judge_clock_sync(const ClockSync& sync);

std::vector<Finding> check_clocks();

}  // namespace unisono::tools
