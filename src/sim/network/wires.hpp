// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Control messages on their way: LogGP timing, adapters shared by the ranks of a host and with the
// data plane, switches in two levels, faults.
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

  // The data plane has begun to use the adapters, and comes to its end: returns for how long control
  // messages kept the busiest adapter meanwhile, by which it takes longer. 0 when asked again.
  void data_begins();
  std::int64_t data_ends();

 private:
  struct Adapter {
    std::int64_t free_ns = 0;
    std::uint32_t bucket = 0;           // the last one during which it was used
    std::int64_t kept_ns = 0;           // by control messages during it
  };
  int host_of(int rank) const { return rank / ranks_per_host_; }
  std::size_t adapter_of(int rank) const {
    return static_cast<std::size_t>(host_of(rank) * nics_ +
                                    rank % ranks_per_host_ * nics_ / ranks_per_host_);
  }
  // Something of that length passes from `at` on; returns when it begins to.
  std::int64_t pass(Adapter& adapter, std::int64_t at, std::int64_t length);
  std::int64_t through_switches(std::int64_t there, int from, int to, std::size_t bytes);
  std::int64_t wire_time(std::int64_t depart, int from, int to, std::size_t bytes);
  std::int64_t disturbed(std::int64_t arrival, int from, int to);

  const Network& network_;
  const Faults& faults_;
  const int ranks_per_host_, nics_;
  const bool two_level_, disturbed_;
  Rng rng_;
  EventQueue& events_;
  const std::uint8_t arrival_kind_;
  std::vector<Adapter> out_, in_;       // by adapter, host after host
  std::vector<Adapter> up_, down_;      // by switch
  std::uint32_t bucket_ = 0;            // counted
  bool data_runs_ = false;
  std::int64_t kept_ns_ = 0;            // of the adapter that was kept longest during this bucket
  Pool<Parcel> parcels_;
  LinkSequencer sequencer_;
  std::vector<std::uint32_t> ready_, repeated_;
};

}  // namespace unisono::sim
