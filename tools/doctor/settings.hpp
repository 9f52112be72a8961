// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What `unisono doctor` was asked to do, as values.
#pragma once

#include <string>
#include <vector>

#include "processes/remote_shell.hpp"

namespace unisono::tools {

struct DoctorSettings {
  std::vector<std::string> hosts;  // besides this machine, each once
  ShellSettings shell;
  std::string json;  // a path, or - for standard output
  std::string costs;  // a path; empty: they are not written
  bool quiet = false;
  bool serve = false;  // be the other end of a measurement (hosts/serve.hpp)
};

}  // namespace unisono::tools
