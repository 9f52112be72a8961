// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// After the meeting: a pair of lanes between every two ranks. The higher rank calls the lower one.
//
//   1. Over abstract unix sockets where the two may share a host; all hear who reached whom.
//   2. Those pairs map shared memory, in an order that pairs everybody up without circular waits;
//      all hear which pairs could not.
//   3. The remaining pairs connect by TCP, a control and a data connection each; all hear the end.
//
// Thread: the joining one. Blocks until the deadline at most.
#pragma once

#include <vector>

#include "arena/neighbourhood.hpp"
#include "rendezvous/identity/peer_record.hpp"
#include "rendezvous/bootstrap/root_exchange.hpp"
#include "transport/mesh/mesh.hpp"
#include "unisono/options.hpp"

namespace unisono::rendezvous {

struct Connected {
  std::vector<transport::PeerLanes> lanes;           // by rank; this rank's is empty
  std::vector<std::vector<bool>> shares;  // which pairs share memory (or would, under tcp)
  std::string name;                       // "shm", "tcp" or "shm+tcp"
  std::string seals;  // how frames that leave the process are checked; "" for none
};

struct ConnectContext {
  BootstrapLoop& bootstrap;
  RootExchange& root_exchange;
  Poller& poller;
  Doorbell& bell;
  arena::Neighbourhood* neighbourhood;           // null: this rank shares no memory
  Time deadline;
};

Result<Connected> connect_peers(const ConnectContext& context,
                                const std::vector<PeerRecord>& peer_records, Rank self,
                                const Options& options);

}  // namespace unisono::rendezvous
