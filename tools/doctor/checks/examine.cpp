// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/checks/examine.hpp"

#include <iterator>
#include <utility>

#include "processes/interrupt.hpp"
#include "doctor/checks/clock.hpp"
#include "doctor/checks/cores.hpp"
#include "doctor/checks/kernel.hpp"
#include "doctor/checks/memory.hpp"
#include "doctor/checks/network_probe.hpp"
#include "doctor/checks/software_probe.hpp"
#include "doctor/checks/speed.hpp"
#include "rendezvous/connect/sockets.hpp"

namespace unisono::tools {

Examination examine_this_machine(const Progress& progress) {
  Examination out;
  out.host = rendezvous::host_name();
  out.machine = this_machine();
  const auto interfaces = read_interfaces();
  std::string doing;
  double done = 0;
  const Tick tick = [&] { progress(done, doing); };
  const auto step = [&](const char* what, double share, const auto& look) {
    if (interrupted() != 0) return;
    doing = what;
    tick();
    std::vector<Finding> rows = look();
    out.findings.insert(out.findings.end(), std::make_move_iterator(rows.begin()),
                        std::make_move_iterator(rows.end()));
    done += share;
  };
  step("cores", 0.02, [] { return std::vector{check_cores()}; });
  step("memory", 0.02, [] { return check_memory(); });
  step("kernel", 0.03, [] { return check_kernel(); });
  step("clocks", 0.03, [] { return check_clocks(); });
  step("network", 0.2, [&] { return check_network(interfaces, tick); });
  step("speed", 0.3, [&] { return check_speed(addresses_for_others(), out.speed); });
  step("software", 0.4, [&] { return check_software(out.machine.versions, tick); });
  return out;
}

}  // namespace unisono::tools
