// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The network as this machine sees it by itself: interfaces, its own name, ports. Pure; what asks
// the machine is in network_probe.hpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doctor/finding.hpp"

namespace unisono::tools {

struct NetInterface {
  std::string name;
  std::vector<std::string> addresses;  // IPv4 first
  int mtu = 0;                         // 0: not known
  bool up = false, carrier = false, loopback = false;

  bool works() const { return up && carrier && !addresses.empty(); }
};

// A row for each interface with an address, one for all others, and one about what is missing.
std::vector<Finding> judge_interfaces(const std::vector<NetInterface>& interfaces);

struct NameFacts {
  std::string name;
  std::vector<std::string> addresses;      // what it resolves to
  std::string trouble;                     // why it resolves to nothing
  std::string own_address, own_interface;  // what it could resolve to; "" when there is none
};
Finding judge_host_name(const NameFacts& facts);

// "32768	60999" of ip_local_port_range.
std::optional<std::pair<int, int>> parse_port_range(std::string_view text);
// The sockets that hold a port, from /proc/net/sockstat: "TCP: inuse 5 orphan 0 tw 2 ...".
int parse_ports_in_use(std::string_view text);
// trouble: why no port could be had; "" when one could.
Finding judge_ports(const std::optional<std::pair<int, int>>& range, int in_use,
                    const std::string& trouble);

}  // namespace unisono::tools
