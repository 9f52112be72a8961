// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What collectives cost on a simulated network: the forms of cost/ for the algorithms that we run,
// of which the best is taken, as the selector of a job does that has tried them all. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "cost/layout.hpp"
#include "sim/network/network.hpp"

namespace unisono::sim {

struct MoveCost {
  double latency_us = 0;                // what remains for a payload of no bytes
  double bandwidth_us = 0;              // what grows with the payload
  std::string_view algorithm = "";      // the best; "memory" within a host, empty for one rank
  double total_us() const { return latency_us + bandwidth_us; }
};

// A network as cost/ sees it: a message between hosts takes a hop of a collective and its bytes
// over the share of the adapter that collectives attain, one within a host the same through memory.
// A byte is reduced as fast as it is copied within a host, unless the network says otherwise.
cost::Costs link_costs(const Network& network);
// Full hosts but the last, which has the rest.
cost::Layout host_layout(int ranks, int ranks_per_host);

// Of all data that a rank brings; of a gather, of all parts together. A launch is included. Within
// one host data goes through memory.
MoveCost allreduce_cost(const Network& network, std::int64_t bytes, int ranks, int ranks_per_host);
// The same of so many bytes of float32 that a codec encodes; "" leaves them as they are. Beyond 8
// ranks partial sums of what a codec has rounded travel as float32, as live.
MoveCost encoded_cost(const Network& network, std::string_view codec, std::int64_t bytes, int ranks,
                      int ranks_per_host);
MoveCost reducescatter_cost(const Network& network, std::int64_t bytes, int ranks,
                            int ranks_per_host);
MoveCost allgather_cost(const Network& network, std::int64_t bytes, int ranks, int ranks_per_host);

}  // namespace unisono::sim
