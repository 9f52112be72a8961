// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/arguments.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <utility>

#include "base/data/text.hpp"
#include "processes/capture.hpp"
#include "command_line.hpp"
#include "doctor/costs.hpp"
#include "exit_codes.hpp"
#include "rendezvous/connect/sockets.hpp"
#include "run/host_layout.hpp"

namespace unisono::tools {
namespace {

constexpr const char* kDoctorFooter =
    R"(Every problem comes with its mend. Warnings are about speed, other programs, or jobs of
several hosts. With -H each of the other hosts is examined over ssh, and the way to it is tried and
measured; what is printed of such a host is what is wrong there.

Examples:
  unisono doctor
  unisono doctor --json -
  unisono doctor -H node1:4,node2:4
  unisono doctor -H node1,node2 --costs   # then: unisono simulate --network measured ...

Exit codes: 0 nothing is wrong (warnings allowed); 2 wrong usage; 3 a machine lacks something, or
cannot be reached; 130 or 143 ended by Ctrl-C or SIGTERM.)";

struct DoctorLine {
  std::string hosts, hostfile;
  bool force_ssh = false;
};

void describe_doctor(CLI::App& app, DoctorLine& line, DoctorSettings& s) {
  app.name("unisono doctor");
  app.description(
      "Says whether this machine, and others, are fit for unisono:\n"
      "  unisono doctor [-H host1,host2:slots,...] [--json FILE] [options]");
  app.footer(kDoctorFooter);
  app.add_option("-H,--hosts", line.hosts, "other hosts to examine: host:slots,...");
  app.add_option("--hostfile", line.hostfile, "the same from a file: lines of \"host slots=N\"");
  add_shell_options(app, s.shell);
  app.add_flag("--force-ssh", line.force_ssh, "use ssh for localhost too");
  app.add_option("--json", s.json, "write the results as JSON to FILE, or - for standard output");
  app.add_option("--costs", s.costs,
                 "keep what was measured for `unisono simulate --network measured`, in FILE or in\n"
                 "its usual place")
      ->expected(0, 1);
  app.add_flag("-q,--quiet", s.quiet, "no progress bar");
  app.add_flag("--serve", s.serve)->group("");  // not for people
}

Status read_hosts(const DoctorLine& line, DoctorSettings& settings) {
  if (line.hosts.empty() && line.hostfile.empty()) return {};
  if (!line.hosts.empty() && !line.hostfile.empty()) {
    return Status(Code::invalid_argument, "give -H or --hostfile, not both");
  }
  std::string text = line.hosts;
  if (!line.hostfile.empty()) {
    std::ifstream file(line.hostfile);
    if (!file) return Status(Code::invalid_argument, cat("cannot read ", line.hostfile));
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  auto parsed = line.hosts.empty() ? parse_hostfile(text) : parse_hosts(text);
  if (!parsed) return parsed.status();
  // As with `unisono run`: --rsh means that the names are not this machine's.
  const bool all_are_others = line.force_ssh || !settings.shell.rsh.empty();
  std::vector<std::string>& hosts = settings.hosts;
  for (const HostSlots& each : *parsed) {
    const bool here = rendezvous::is_loopback(each.host) || each.host == rendezvous::host_name();
    if (here && !all_are_others) continue;
    if (std::find(hosts.begin(), hosts.end(), each.host) == hosts.end()) {
      hosts.push_back(each.host);
    }
  }
  return {};
}

}  // namespace

DoctorArguments parse_doctor_arguments(std::vector<std::string> arguments) {
  DoctorArguments out;
  DoctorLine line;
  CLI::App app;
  describe_doctor(app, line, out.settings);
  if (const auto over = read_command_line(app, std::move(arguments))) {
    out.exit_code = *over;
    return out;
  }
  if (app.get_option("--costs")->count() > 0 && out.settings.costs.empty()) {
    out.settings.costs = usual_costs_path();
  }
  if (out.settings.shell.remote_unisono.empty()) out.settings.shell.remote_unisono = own_path();
  if (Status bad = read_hosts(line, out.settings); !bad.ok()) {
    std::cerr << "unisono doctor: " << bad.message() << "\nTry: unisono doctor --help\n";
    out.exit_code = kWrongUsage;
  }
  return out;
}

}  // namespace unisono::tools
