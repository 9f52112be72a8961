// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The last step of joining: a few pairs of ranks send messages to and fro, one pair for each host
// and kind of link, and all ranks learn the medians (cost/links.hpp). Takes at most kMeasureFor for
// each kind of link, whatever the links are like; what was not measured by then has typical figures.
// Nothing is measured where no message of an allreduce depends on it: all ranks share memory, the
// algorithm is pinned, or deterministic is set.
// Thread: the joining one.
#pragma once

#include "base/clock.hpp"
#include "cost/layout.hpp"
#include "rendezvous/bootstrap/root_exchange.hpp"
#include "transport/transport.hpp"
#include "unisono/options.hpp"

namespace unisono::rendezvous {

inline constexpr Nanos kMeasureFor{40'000'000};

struct Joined {
  transport::Transport& transport;
  RootExchange& root_exchange;
  const std::vector<PeerRecord>& peer_records;
  const std::vector<std::vector<bool>>& shares;  // which pairs share memory, or a host with tcp only
};

// All ranks return the same, bit for bit, or a failure.
Result<cost::Network> measure_network(const Joined& joined, const Options& options,
                                      const Clock& clock);

// Who is on which host, and what joins the ranks of one; nothing is measured.
cost::Network describe_network(const std::vector<PeerRecord>& peer_records,
                               const std::vector<std::vector<bool>>& shares,
                               const Options& options);
// With whom this rank measures links of that kind; -1 with nobody. Both of a pair find each other.
Rank measuring_partner(const cost::Network& network, cost::LinkClass link, Rank self);

}  // namespace unisono::rendezvous
