// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The network in the LogGP model; collective_cost.hpp has what collectives cost over it. Values and
// pure functions.
//
// A control message costs its sender and its receiver the overhead o of processor time each; the
// adapter of a host, shared by the ranks on it, lets one message out every gap g, longer by G per
// byte; the wire takes the latency L. Ranks of one host exchange through memory instead.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "unisono/status.hpp"

namespace unisono::sim {

struct Network {
  std::string name = "10gbe";
  double latency_us = 20;               // L
  double overhead_us = 3;               // o
  double gap_us = 1;                    // g
  double gb_per_s = 1.25;               // of a host's adapter: G = 1 / this
  double local_latency_us = 0.5;        // between two ranks of one host
  double local_gb_per_s = 10;
  double hop_us = 25;                   // one step of a collective between hosts
  double local_hop_us = 2;
  double launch_us = 10;                // to start a collective
  double tensor_us = 0;                 // to start a tensor's copies into and out of its bucket
  double attained = 0.8;                // share of gb_per_s that a large collective reaches
  double emulated_ns_per_byte = 0;      // of a collective's data, on top (the option emulate)
  double reduce_ns_per_byte = -1;       // of a sum; -1: as fast as copying within a host
  std::string_view source = "given";    // where the figures come from
};

std::span<const Network> network_table();
// A name of the table, or alpha=SECONDS,beta=SECONDS_PER_BYTE (optionally gamma=, of a byte of a
// sum, else 0): then one step of a collective takes alpha and a byte beta, on every wire.
Result<Network> parse_network(std::string_view text);

}  // namespace unisono::sim
