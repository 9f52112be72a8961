// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Runs a short command and keeps what it prints.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "processes/child.hpp"

namespace unisono::tools {

struct Captured {
  int exit_code = -1;                        // -1: ended by a signal, or too late; 127: not found
  bool in_time = false;                      // else the command was killed
  std::string out, err;
};

// Runs a command without input to its end, or for limit_s. Calls tick, if there is one, several
// times a second.
// Of more output than is kept, its beginning, or where asked its end.
enum class Keep { beginning, end };
Captured capture(const std::vector<std::string>& command, double limit_s = 60,
                 const Tick& tick = {}, Keep keep = Keep::beginning);
// The path of an executable, as the shell would find it; "" when there is none.
std::string find_on_path(std::string_view name);
// The path of this executable.
std::string own_path();

}  // namespace unisono::tools
