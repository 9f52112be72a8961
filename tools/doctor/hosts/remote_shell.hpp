// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How a command is run on another host, and what it means when that fails. Pure. The command lines
// are those of `unisono run` (run/remote_session.cpp), with a limit for connecting.
#pragma once

#include <string>
#include <vector>

#include "doctor/finding.hpp"
#include "doctor/settings.hpp"

namespace unisono::tools {

// words: the arguments of unisono there; nothing that a shell would change.
std::vector<std::string> remote_command(const ShellSettings& settings, const std::string& host,
                                        const std::vector<std::string>& words);

struct ShellEnd {
  bool in_time = true;
  int exit_code = -1;   // -1: ended by a signal, or not at all
  std::string err;      // what it wrote to standard error
  double waited_s = 0;  // at most
};
// The row for a host whose doctor did not answer.
Finding judge_shell_end(const ShellSettings& settings, const std::string& host,
                        const ShellEnd& end);

}  // namespace unisono::tools
