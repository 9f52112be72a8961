// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/machine.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/os/cpu.hpp"
#include "base/data/text.hpp"
#include "processes/capture.hpp"
#include "model/options/option_values.hpp"

namespace unisono::tools {
namespace {

// The value of the first "key : value" line.
std::string field(const std::string& text, const std::string& key) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line(text.data() + at, end - at);
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && trim(line.substr(0, colon)) == key) {
      return std::string(trim(line.substr(colon + 1)));
    }
    at = end + 1;
  }
  return "";
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  if (std::string name = field(text, "model name"); !name.empty()) return name;
  // Arm's cpuinfo has numbers only; lscpu knows their names.
  const std::string name = field(capture({"lscpu"}, 5).out, "Model name");
  return name.empty() ? "unknown" : name;
}

}  // namespace

Machine this_machine() {
  Machine machine;
  machine.cpu = cpu_model();
  utsname about{};
  ::uname(&about);
  machine.architecture = about.machine;
  machine.kernel = cat(about.sysname, " ", about.release);
  machine.cores = usable_cores();
  machine.memory_gib = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
                       static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 30);
  double loads[1] = {0};
  if (::getloadavg(loads, 1) == 1) machine.load = loads[0];
  machine.versions["unisono"] = UNISONO_VERSION_TEXT;
  return machine;
}

std::string describe(const Machine& machine) {
  char memory[32];
  std::snprintf(memory, sizeof memory, "%.1f GiB", machine.memory_gib);
  return cat(machine.cpu, " (", machine.architecture, "), ", machine.cores, " cores, ", memory,
             ", ", machine.kernel);
}

nlohmann::ordered_json machine_json(const Machine& machine) {
  return {{"cpu", machine.cpu},
          {"architecture", machine.architecture},
          {"cores", machine.cores},
          {"memory_gib", machine.memory_gib},
          {"kernel", machine.kernel},
          {"load", machine.load},
          {"versions", machine.versions}};
}

}  // namespace unisono::tools
