// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// `unisono opt`: trains, tries and feeds linear models; as a rank of a job, or alone.
#pragma once

#include <string>
#include <vector>

namespace unisono::tools {

// arguments: those after `opt`. Returns the exit code.
int opt_command(std::vector<std::string> arguments);

}  // namespace unisono::tools
