// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The transports that connect ranks of different processes, the fastest first. Each says itself whether
// it can join two of them; src/rendezvous/connect makes the lanes, by shared memory where it can and by
// TCP for the rest.
// Pure; any thread.
#pragma once

#include <span>
#include <string_view>

#include "model/options/registry.hpp"

namespace unisono::transport {

// What a rank has told the others before any of them is connected.
struct Endpoint {
  std::string_view place;               // the same for ranks of one kernel; "" when it is unknown
  std::string_view unix_name;           // where it hands over shared memory; "" when it has none
  std::string_view address;             // where it listens; "" when it does not
};

struct TransportRow {
  std::string_view name;
  std::string_view about;
  // Whether it is worth trying; the attempt may still fail.
  bool (*viable)(const Endpoint& one, const Endpoint& other);
};
std::span<const TransportRow> transport_table();
// Finds a transport by its name, which must be in the table.
const TransportRow& find_transport(std::string_view name);
// Whether the option allows the transport of this name.
inline bool may_use(std::string_view option, std::string_view name) {
  return option == "auto" || option == name;
}

}  // namespace unisono::transport
