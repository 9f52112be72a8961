// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Control messages on their way: LogGP timing, adapters shared by the ranks of a host, faults.
// Thread: the simulation's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/data/rng.hpp"
#include "sim/event_queue.hpp"
#include "sim/workload/faults.hpp"
#include "sim/network/network.hpp"

namespace unisono::sim {

struct Parcel {
  int from = 0;
  std::uint32_t number = 0;             // on its link, when the network is disturbed
  std::vector<std::byte> bytes;
};

class Wires {
 public:
  // Arrivals become events of this kind; actor = receiver, payload = handle. References outlive it.
  Wires(const Network& network, const Faults& faults, int ranks, int ranks_per_host,
        std::uint64_t seed, EventQueue& events, std::uint8_t arrival_kind);

  // The sender's thread hands over a message at `now`; returns the time at which it is free again.
  std::int64_t send(std::int64_t now, int from, int to, std::vector<std::byte> bytes);
  // Appends what an arrival event brings for order/: nothing, one parcel, or several in order.
  void arrive(const Event& event, std::vector<Parcel>& out);

 private:
  int host_of(int rank) const { return rank / ranks_per_host_; }
  std::int64_t wire_time(std::int64_t depart, int from, int to, std::size_t bytes);
  std::int64_t disturbed(std::int64_t arrival, int from, int to);

  const Network& network_;
  const Faults& faults_;
  const int ranks_per_host_;
  const bool disturbed_;
  Rng rng_;
  EventQueue& events_;
  const std::uint8_t arrival_kind_;
  std::vector<std::int64_t> out_free_, in_free_;  // by host: when its adapter is free
  Pool<Parcel> parcels_;
  LinkSequencer sequencer_;
  std::vector<std::uint32_t> ready_, repeated_;
};

}  // namespace unisono::sim
