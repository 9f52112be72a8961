// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The compact trace that the simulator reads: tensors, and when each is ready in a step.
#pragma once

#include <string>

#include "sim/workload/workload.hpp"

namespace unisono::tools {

Result<sim::Workload> read_trace(const std::string& path);

}  // namespace unisono::tools
