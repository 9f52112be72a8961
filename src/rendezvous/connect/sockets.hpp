// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The sockets a join needs: listening, connecting, addresses as text. All non-blocking and
// close-on-exec. Thread: any.
#pragma once

#include <string>
#include <string_view>

#include "base/os/fd.hpp"
#include "unisono/status.hpp"

namespace unisono::rendezvous {

struct HostPort {
  std::string host;
  int port = 0;
};

// "host:port" or "[v6]:port".
Result<HostPort> parse_address(std::string_view text);
std::string address_text(const std::string& host, int port);
// Whether a name or an address means this machine's loopback.
bool is_loopback(std::string_view host);

Result<Fd> listen_tcp(const std::string& host, int port);
// On every address of this machine, of both families where it has them.
Result<Fd> listen_everywhere(int port);
Result<int> port_of(const Fd& listener);
// Listens on an abstract name, so that nothing is left behind in any file system.
Result<Fd> listen_unix(const std::string& name);

// Starts a connection; once the socket is writable, it is connected or has failed (connect_error).
Result<Fd> start_tcp(const HostPort& to);
Result<Fd> start_unix(const std::string& name);
int connect_error(const Fd& socket);
void set_nodelay(const Fd& socket);
// By the name that the system has for it, "system" being what it is anyway. Returns false, and changes
// nothing, where the system does not offer that one.
bool set_congestion(const Fd& socket, const std::string& name);

// Returns the address of this machine from which `to` is reached.
Result<std::string> local_address_towards(const HostPort& to);
std::string host_name();
// Equal for processes that see the same abstract sockets: boot and network namespace. "" = unknown.
std::string place_name();

}  // namespace unisono::rendezvous
