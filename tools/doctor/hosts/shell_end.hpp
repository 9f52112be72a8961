// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What it means when a command on another host fails. Pure.
#pragma once

#include <string>

#include "doctor/finding.hpp"
#include "doctor/settings.hpp"

namespace unisono::tools {

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
