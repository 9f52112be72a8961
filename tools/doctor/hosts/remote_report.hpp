// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What other hosts' doctors say, taken apart. Nothing in it is trusted: it may be anything, and
// what is printed of it cannot steer a terminal. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/checks/software.hpp"
#include "doctor/finding.hpp"
#include "rendezvous/handshake/handshake.hpp"
#include "unisono/status.hpp"

namespace unisono::tools {

// The text without control characters, cut where it is longer.
std::string printable(std::string_view text, std::size_t most);

struct RemoteReport {
  std::string host;  // as it calls itself
  Versions versions;
  std::vector<Finding> findings;
};
// The JSON of `unisono doctor --json -`, after whatever a login shell printed.
Result<RemoteReport> parse_remote_report(std::string_view out);

// The first line that `unisono doctor --serve` prints: where it listens, the address that is known
// to lead to it first.
std::string serve_hello_line(const std::vector<std::string>& addresses);
std::optional<std::vector<std::string>> parse_serve_hello(std::string_view line);

// The key of a measurement, as the line that `unisono doctor --serve` reads first.
std::string key_line(const rendezvous::JobKey& key);
std::optional<rendezvous::JobKey> parse_key_line(std::string_view line);

}  // namespace unisono::tools
