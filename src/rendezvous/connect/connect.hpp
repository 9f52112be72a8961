// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// After the rendezvous: gives every two ranks a pair of lanes. The higher rank calls the lower one.
//
//   1. Ranks that may share a host connect over abstract unix sockets; all ranks learn who reached
//      whom.
//   2. Those pairs map shared memory, in an order that avoids circular waits; all ranks learn which
//      pairs could not.
//   3. All ranks learn how many data connections suit everybody, unless the option says it. The
//      remaining pairs connect by TCP, with a control and that many data connections each, or in
//      large jobs those of them that are adjacent; all ranks learn that this is done.
//
// Thread: the joining one. Blocks at most until the deadline.
#pragma once

#include <optional>
#include <vector>

#include "arena/neighbourhood.hpp"
#include "rendezvous/identity/peer_record.hpp"
#include "rendezvous/bootstrap/root_exchange.hpp"
#include "rendezvous/connect/addresses.hpp"
#include "transport/mesh/mesh.hpp"
#include "transport/mesh/overlay.hpp"
#include "unisono/options.hpp"

namespace unisono::rendezvous {

struct Connected {
  std::vector<transport::PeerLanes> lanes;           // by rank; this rank's is empty
  std::vector<std::vector<bool>> shares;  // which pairs share memory (or could, with tcp only)
  std::string name;                       // "shm", "tcp" or "shm+tcp"
  std::string seals;  // how frames over TCP are checked; "" when no pair uses TCP
  std::vector<HostPort> reached;          // by rank: where it was reached by TCP, else port 0
  std::vector<bool> answered;             // by rank: whether it was this rank that called
  std::size_t stripes = 1;                // data connections between two ranks over TCP
};

struct ConnectContext {
  BootstrapLoop& bootstrap;
  RootExchange& root_exchange;
  Poller& poller;
  Doorbell& bell;
  arena::Neighbourhood* neighbourhood;           // null: this rank shares no memory
  const std::vector<InterfaceAddress>& here;     // of this machine
  const std::optional<transport::Overlay>& overlay;  // others connect later
  std::size_t stripes;                           // as the option says, or as suits this rank
  Time deadline;
};

Result<Connected> connect_peers(const ConnectContext& context,
                                const std::vector<PeerRecord>& peer_records, Rank self,
                                const Options& options);

}  // namespace unisono::rendezvous
