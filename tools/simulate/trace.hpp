// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The compact trace that the simulator reads: tensors, when each is ready in a step, and, where it
// is known, when the forward pass needs it. An error names the file, the place and the reason.
#pragma once

#include <string>

#include "sim/workload/workload.hpp"

namespace unisono::tools {

Result<sim::Workload> read_trace(const std::string& path);

}  // namespace unisono::tools
