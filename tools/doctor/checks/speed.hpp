// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Whether this machine reaches itself through each of its addresses, and how fast: TCP through
// loopback, copies through shared memory. Pure, but for check_speed().
#pragma once

#include <string>
#include <vector>

#include "doctor/finding.hpp"
#include "doctor/traffic.hpp"

namespace unisono::tools {

// "0.85 GB/s, round trip 32 us".
std::string traffic_text(const Traffic& traffic);

// The addresses without their ports, with the trouble each had.
Finding judge_own_addresses(const std::vector<Reached>& tried);
Finding judge_loopback(const Result<Traffic>& measured);
// gb_per_s: 0 when no shared memory could be made.
Finding judge_shared_copy(double gb_per_s);

struct OwnSpeed {
  Traffic loopback;
  double copy_gb_per_s = 0;             // in shared memory, by one thread
};

// addresses: of this machine, besides 127.0.0.1. Takes less than a second where all is well. Also
// says the figures, 0 where there are none.
std::vector<Finding> check_speed(const std::vector<std::string>& addresses, OwnSpeed& speed);

}  // namespace unisono::tools
