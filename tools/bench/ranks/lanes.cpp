// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/lanes.hpp"

#include <array>
#include <cstdlib>
#include <cstring>

#include "base/data/text.hpp"
#include "rendezvous/bootstrap/join.hpp"
#include "rendezvous/connect/addresses.hpp"
#include "rendezvous/connect/sockets.hpp"

namespace unisono::tools {
namespace {

using AddressBytes = std::array<std::uint8_t, 4096>;

std::optional<std::string> variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
}

// Another port of rank 0, at the addresses where the launcher's was reached.
Result<std::string> listen_again(Fd& listener) {
  auto hosts = rendezvous::parse_addresses(variable("UNISONO_ADDRESS").value_or(""));
  if (!hosts) return hosts.status();
  const bool near = rendezvous::all_loopback(*variable("UNISONO_ADDRESS"));
  auto made = near ? rendezvous::listen_tcp(hosts->front().host, 0)
                   : rendezvous::listen_everywhere(0);
  if (!made) return made.status();
  auto port = rendezvous::port_of(*made);
  if (!port) return port.status();
  listener = std::move(*made);
  for (rendezvous::HostPort& each : *hosts) each.port = *port;
  return rendezvous::addresses_text(*hosts);
}

Result<std::string> agree_on_address(Engine& control, int lane, Fd& listener) {
  AddressBytes bytes{};
  Status failed;
  if (control.rank() == 0) {
    auto made = listen_again(listener);
    if (made && made->size() < bytes.size()) {
      std::memcpy(bytes.data(), made->data(), made->size());
    } else {
      failed = made ? Status(Code::internal, "too many addresses") : made.status();
    }
  }
  const std::string name = cat("bench.address.", lane);
  if (Status bad = control.broadcast<std::uint8_t>(name, bytes, 0).wait(); !bad.ok()) return bad;
  if (!failed.ok()) return failed;
  if (bytes.front() == 0) {
    return Status(Code::unavailable, "rank 0 could not open a port for further engines");
  }
  return std::string(reinterpret_cast<const char*>(bytes.data()));
}

}  // namespace

Result<bool> started_as_rank() {
  auto launched = rendezvous::launch_identity_from_environment(variable);
  if (!launched) return launched.status();
  if (launched->identity.source == "alone") return false;
  if (launched->identity.size > 1 && launched->address.empty()) {
    return Status(Code::invalid_argument,
                  cat("started by ", launched->identity.source, ", which does not tell ranks where "
                      "rank 0 is; start it with unisono run"));
  }
  return true;
}

OpenLane lanes_of_job(Engine& control) {
  return [&control](const Options& options, int lane) -> Result<Engine> {
    Fd listener;
    std::string address;
    if (control.size() > 1) {
      auto agreed = agree_on_address(control, lane, listener);
      if (!agreed) return agreed.status();
      address = std::move(*agreed);
    }
    return Engine::join(options, [&](const std::string& name) -> std::optional<std::string> {
      if (name == "UNISONO_ADDRESS" && !address.empty()) return address;
      if (name == "UNISONO_LISTEN_FD") {
        return listener.valid() ? std::optional(cat(listener.get())) : std::nullopt;
      }
      return variable(name);
    });
  };
}

}  // namespace unisono::tools
