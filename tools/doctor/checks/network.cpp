// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/checks/network.hpp"

#include <algorithm>
#include <sstream>

#include "base/data/text.hpp"
#include "rendezvous/connect/sockets.hpp"

namespace unisono::tools {
namespace {

constexpr int kLeastMtu = 1280;  // what IPv6 asks of every link


std::string state_text(const NetInterface& one) {
  if (!one.up) return "down";
  return one.carrier ? "up" : "up, but no carrier";
}

Finding judge_interface(const NetInterface& one) {
  const std::string name = cat("interface ", one.name);
  std::string found = cat(state_text(one), one.loopback ? ", loopback" : "");
  if (one.mtu > 0) found += cat(", MTU ", one.mtu);
  found += cat(", ", join_text(one.addresses));
  if (one.up && !one.loopback && one.mtu > 0 && one.mtu < kLeastMtu) {
    return doubtful(name, cat(found, "; IPv6 needs an MTU of ", kLeastMtu, ", and small ones cost"),
                    cat("ip link set dev ", one.name, " mtu 1500"));
  }
  return good(name, found);
}

}  // namespace

std::vector<Finding> judge_interfaces(const std::vector<NetInterface>& interfaces) {
  std::vector<Finding> rows;
  std::vector<std::string> others;
  bool loopback = false, outside = false;
  for (const NetInterface& one : interfaces) {
    (one.loopback ? loopback : outside) |= one.works();
    if (one.addresses.empty()) {
      others.push_back(cat(one.name, " (", state_text(one), ")"));
    } else {
      rows.push_back(judge_interface(one));
    }
  }
  if (others.size() > 8) {
    const std::size_t more = others.size() - 8;
    others.resize(8);
    others.push_back(cat("and ", more, " more"));
  }
  if (!others.empty()) {
    rows.push_back(good("other interfaces", cat("without an address: ", join_text(others))));
  }
  if (!loopback) {
    rows.push_back(lacking("network", "loopback is down: ranks of this machine cannot meet",
                           "ip link set dev lo up"));
  } else if (!outside) {
    rows.push_back(doubtful("network",
                            "only loopback is up: jobs of this machine run, those of several hosts "
                            "do not",
                            "ip link set dev NAME up and give it an address, or docker run "
                            "--network=host"));
  }
  return rows;
}

Finding judge_host_name(const NameFacts& facts) {
  const std::string name = "host name";
  const std::string own = facts.own_address.empty() ? "ADDRESS" : facts.own_address;
  const std::string users = "unisono does not ask for it, but MPI and Gloo may";
  const std::string mend =
      cat("write \"", own, " ", facts.name, "\" into /etc/hosts",
          facts.own_interface.empty() ? ""
                                      : cat(", or set GLOO_SOCKET_IFNAME=", facts.own_interface));
  if (facts.addresses.empty()) {
    return doubtful(name, cat(facts.name, " leads nowhere (", facts.trouble, "); ", users), mend);
  }
  const std::string found = cat(facts.name, " is ", join_text(facts.addresses));
  if (!std::all_of(facts.addresses.begin(), facts.addresses.end(),
                   [](const std::string& one) { return rendezvous::is_loopback(one); })) {
    return good(name, found);
  }
  return doubtful(name, cat(found, ", which no other host reaches; ", users), mend);
}

std::optional<std::pair<int, int>> parse_port_range(std::string_view text) {
  std::istringstream words{std::string(text)};
  int low = 0, high = 0;
  if (!(words >> low >> high) || low < 1 || high < low || high > 65535) return std::nullopt;
  return std::pair{low, high};
}

int parse_ports_in_use(std::string_view text) {
  std::istringstream lines{std::string(text)};
  int ports = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    int number = 0;
    if (!(words >> word) || word != "TCP:") continue;
    while (words >> word >> number) {
      if (word == "inuse" || word == "tw") ports += number;
    }
  }
  return ports;
}

Finding judge_ports(const std::optional<std::pair<int, int>>& range, int in_use,
                    const std::string& trouble) {
  const std::string name = "ports";
  constexpr int kFewPorts = 1024;
  const std::string mend =
      "sysctl -w net.ipv4.ip_local_port_range=\"32768 60999\", and end programs that hold many "
      "connections";
  if (!trouble.empty()) return lacking(name, cat("none can be had: ", trouble), mend);
  if (!range) return good(name, "one can be had; the kernel does not tell the range");
  const int count = range->second - range->first + 1;
  const std::string found = cat(range->first, " to ", range->second, ", ", in_use, " in use");
  if (count < kFewPorts) return doubtful(name, cat(found, ": a small range"), mend);
  if (in_use > count / 5 * 4) return doubtful(name, cat(found, ": nearly all"), mend);
  return good(name, found);
}

}  // namespace unisono::tools
