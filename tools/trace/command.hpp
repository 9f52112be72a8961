// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// `unisono trace summary|compact|merge`.
#pragma once

#include <string>
#include <vector>

namespace unisono::tools {

int trace_command(std::vector<std::string> arguments);

}  // namespace unisono::tools
