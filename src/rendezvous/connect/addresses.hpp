// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Which addresses of this machine other hosts are told, and in which order a rank tries those of a
// peer, so that two machines meet without anybody naming an interface.
// Pure, but for interface_addresses() and routes(). Thread: any.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/connect/sockets.hpp"
#include "unisono/status.hpp"

namespace unisono::rendezvous {

struct InterfaceAddress {
  std::string interface;
  std::string address;                  // numeric
  int prefix_bits = 0;                  // of its network
  bool up = true, loopback = false;
  bool carrier = true;                  // false: no cable, or the kernel has yet to see it
};
std::vector<InterfaceAddress> interface_addresses();

// Whether it stands for all addresses of a host, of either family.
bool is_any_address(std::string_view host);

// What this machine publishes: "" or any address means every one that others may reach; otherwise the
// name of an interface, a network such as 10.0.0.0/8, an address, or the name of a host. Loopback only when
// it is named, since it leads every other host to itself. At least one, or an error that lists what
// is there.
Result<std::vector<std::string>> addresses_to_publish(const std::vector<InterfaceAddress>& here,
                                                      std::string_view wanted);

// Whether the routing table knows a way to the address; sends nothing.
bool routes(const std::string& address);

// A peer's addresses in the order in which a rank tries them: those on a network that this machine
// is on, too; then names and those with a route; then the rest. Within each as they were published.
// Addresses that this machine has itself are left out unless nothing remains: on two hosts with the
// same bridge a rank would call itself.
std::vector<HostPort> order_to_try(std::vector<HostPort> peer,
                                   const std::vector<InterfaceAddress>& here,
                                   const std::function<bool(const std::string&)>& has_route);

// Several addresses as one text, and back: host:port with commas between.
std::string addresses_text(const std::vector<HostPort>& addresses);
Result<std::vector<HostPort>> parse_addresses(std::string_view text);
// Whether the list can be read and nothing in it leads to another host.
bool all_loopback(std::string_view addresses);

}  // namespace unisono::rendezvous
