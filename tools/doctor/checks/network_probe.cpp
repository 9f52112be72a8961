// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/checks/network_probe.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <sstream>

#include "base/data/text.hpp"
#include "doctor/checks/files.hpp"
#include "rendezvous/connect/addresses.hpp"

namespace unisono::tools {
namespace {

constexpr double kResolveS = 3;

std::string address_of(const sockaddr* address) {
  const socklen_t length =
      address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  char text[NI_MAXHOST];
  const bool known =
      ::getnameinfo(address, length, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0;
  return known ? text : "";
}

// One address per line, or a line "!" with the reason.
std::string resolve_in_lines(const std::string& name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(name.c_str(), nullptr, &hints, &found);
  if (error != 0) return cat("!", ::gai_strerror(error), "\n");
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(found, &::freeaddrinfo);
  std::string lines;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    lines += cat(address_of(at->ai_addr), "\n");
  }
  return lines;
}

// In a process of its own: name servers that do not answer cannot be waited for with a limit.
void resolve_name(NameFacts& facts, const Tick& tick) {
  auto child = Child::call([&] { return resolve_in_lines(facts.name); });
  if (!child) {
    facts.trouble = child.status().message();
    return;
  }
  Child* const all[] = {&*child};
  facts.trouble = cat("no name server answered within ", kResolveS, " s");
  if (!pump_until(
          all, SteadyClock().now() + seconds_to_nanos(kResolveS), [&] { return child->ended(); },
          tick)) {
    return;
  }
  while (const auto line = child->take_line()) {
    if (line->starts_with("!")) {
      facts.trouble = line->substr(1);
    } else if (std::find(facts.addresses.begin(), facts.addresses.end(), *line) ==
               facts.addresses.end()) {
      facts.addresses.push_back(*line);
    }
  }
}

std::string port_trouble() {
  const auto listener = rendezvous::listen_tcp("127.0.0.1", 0);
  return listener ? "" : listener.status().message();
}

}  // namespace

std::vector<NetInterface> read_interfaces() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> list(first, &::freeifaddrs);
  std::vector<NetInterface> interfaces;
  for (const int family : {AF_PACKET, AF_INET, AF_INET6}) {
    for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
      if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != family) continue;
      auto one = std::find_if(interfaces.begin(), interfaces.end(),
                              [&](const NetInterface& each) { return each.name == at->ifa_name; });
      if (one == interfaces.end()) {
        const auto flag = [&](unsigned bit) { return (at->ifa_flags & bit) != 0; };
        const std::string mtu = text_of(cat("/sys/class/net/", at->ifa_name, "/mtu"));
        interfaces.push_back({at->ifa_name,
                              {},
                              std::atoi(mtu.c_str()),
                              flag(IFF_UP),
                              flag(IFF_RUNNING),
                              flag(IFF_LOOPBACK)});
        one = interfaces.end() - 1;
      }
      if (family != AF_PACKET) one->addresses.push_back(address_of(at->ifa_addr));
    }
  }
  return interfaces;
}

std::vector<std::string> addresses_for_others() {
  auto addresses = rendezvous::addresses_to_publish(rendezvous::interface_addresses(), "");
  return addresses ? *addresses : std::vector<std::string>{"127.0.0.1"};
}

std::vector<Finding> check_network(const std::vector<NetInterface>& interfaces, const Tick& tick) {
  std::vector<Finding> rows = judge_interfaces(interfaces);
  NameFacts name;
  name.name = rendezvous::host_name();
  resolve_name(name, tick);
  const auto addresses = addresses_for_others();
  if (!addresses.empty() && !rendezvous::is_loopback(addresses.front())) {
    name.own_address = addresses.front();
    for (const NetInterface& one : interfaces) {
      const auto& own = one.addresses;
      if (std::find(own.begin(), own.end(), name.own_address) != own.end()) {
        name.own_interface = one.name;
      }
    }
  }
  rows.push_back(judge_host_name(name));
  rows.push_back(judge_ports(parse_port_range(text_of("/proc/sys/net/ipv4/ip_local_port_range")),
                             parse_ports_in_use(text_of("/proc/net/sockstat")), port_trouble()));
  return rows;
}

}  // namespace unisono::tools
