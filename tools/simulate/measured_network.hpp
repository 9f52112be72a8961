// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The network that `unisono doctor` measured, as the simulator has networks.
#pragma once

#include <string_view>

#include "sim/network/network.hpp"

namespace unisono::tools {

// A name of the table or parameters, "measured", or "measured:FILE". Whether ranks of several hosts
// are simulated decides whether a way between hosts must have been measured.
Result<sim::Network> network_named(std::string_view text, bool several_hosts);

}  // namespace unisono::tools
