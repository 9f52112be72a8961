// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The network in the LogGP model; collective_cost.hpp has what collectives cost over it. Values and
// pure functions.
//
// A control message costs its sender and its receiver the overhead o of processor time each; the
// adapter of a host, shared by the ranks on it, lets one message out every gap g, longer by G per
// byte; the wire takes the latency L. Ranks of one host exchange through memory instead.
//
// A host may have several adapters, among which its ranks are divided. Hosts may be joined in two
// levels: so many to a switch, whose link upwards is narrower than their adapters together by the
// oversubscription. One level, which is never congested, unless hosts_per_switch says otherwise.
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
  double codec_ns_per_byte = 0.25;      // of a tensor, to encode it and to decode it again
  double attained = 0.8;                // share of gb_per_s that a large collective reaches
  double emulated_ns_per_byte = 0;      // of a collective's data, on top (the option emulate)
  double reduce_ns_per_byte = -1;       // of a sum; -1: as fast as copying within a host
  int nics = 1;                         // adapters of a host, of gb_per_s each
  int hosts_per_switch = 0;             // 0: all hosts on one switch
  double oversubscription = 1;          // adapters below a switch / its link upwards
  double spine_us = 1;                  // longer from switch to switch, each way
  // Data that stands before a control message in an adapter while a bucket is on its way.
  double data_queue_bytes = 64 << 10;
  std::string algorithm;                // of all collectives; empty: the best for each size
  std::string_view source = "given";    // where the figures come from
};

// Whether that many hosts need more than one switch.
inline bool is_two_level(const Network& network, int hosts) {
  return network.hosts_per_switch > 0 && hosts > network.hosts_per_switch;
}

std::span<const Network> network_table();
// A name of the table, or alpha=SECONDS,beta=SECONDS_PER_BYTE (optionally gamma=, of a byte of a
// sum, else 0): then one step of a collective takes alpha and a byte beta, on every wire.
Result<Network> parse_network(std::string_view text);

}  // namespace unisono::sim
