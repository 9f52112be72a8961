// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Asks this machine about its network.
#pragma once

#include <string>
#include <vector>

#include "doctor/checks/network.hpp"
#include "processes/child.hpp"

namespace unisono::tools {

std::vector<NetInterface> read_interfaces();
// What ranks of this host publish; loopback when no other host can reach it.
std::vector<std::string> addresses_for_others();
// Interfaces, the host's own name and ports. A name server that does not answer is waited for three
// seconds.
std::vector<Finding> check_network(const std::vector<NetInterface>& interfaces, const Tick& tick);

}  // namespace unisono::tools
