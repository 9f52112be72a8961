// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Runs a short command and keeps what it prints.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace unisono::tools {

struct Captured {
  int exit_code = -1;                        // -1: ended by a signal; 127: not found
  std::string out, err;
};

// The command is killed after limit_s.
Captured capture(const std::vector<std::string>& command, double limit_s = 60);
// The path of an executable, as the shell would find it; "" when there is none.
std::string find_on_path(std::string_view name);
// The path of this executable.
std::string own_path();

}  // namespace unisono::tools
