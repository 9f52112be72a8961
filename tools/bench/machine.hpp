// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What a reader of the figures must know about where they were measured.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace unisono::tools {

struct Machine {
  std::string cpu, architecture, kernel;
  int cores = 0;                             // that this process may use
  double memory_gib = 0, load = 0;           // load: the average of the last minute, at the start
  std::map<std::string, std::string> versions;
};

Machine this_machine();
// One line: "Neoverse-N1, 2 cores, 7.6 GiB, Linux 6.1".
std::string describe(const Machine& machine);
nlohmann::ordered_json machine_json(const Machine& machine);

}  // namespace unisono::tools
