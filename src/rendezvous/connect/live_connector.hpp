// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Serves a rank's listening socket while the job runs, and calls peers whose connection broke or
// was never made. Whoever connects and is no rank of this very job is a stranger, who is counted
// and disconnected; at most 16 of them at once, 64 bytes and 2 s each.
#pragma once

#include <memory>
#include <vector>

#include "base/os/fd.hpp"
#include "rendezvous/bootstrap/join.hpp"
#include "rendezvous/connect/addresses.hpp"
#include "rendezvous/handshake/handshake.hpp"
#include "rendezvous/identity/peer_record.hpp"
#include "transport/mesh/connector.hpp"

namespace unisono::rendezvous {

class LiveConnector : public transport::Connector, public JobDoor {};

struct LiveSettings {
  JobKey key{};
  Rank self = 0;
  std::uint32_t incarnation = 0;
  std::vector<PeerRecord> peer_records;  // by rank; empty: nobody is called, and nobody may come
  std::vector<InterfaceAddress> here;    // of this machine
  // By rank: the address at which it was reached, with port 0 where that is not known.
  std::vector<HostPort> reached;
  std::vector<bool> answered;            // by rank: whether it answered this rank's call there
  std::string integrity = "auth";
  bool encrypt = false;
  double dead_s = 4;
  std::string congestion = "system";     // as set_congestion() takes it
  std::size_t stripes = 1;               // of the data between two ranks
  std::uint64_t strangers = 0;           // that were refused during the join
};

// The same on all ranks that joined together, and, but for one chance in four billion, on no others.
std::uint32_t incarnation_of(const std::vector<PeerRecord>& peer_records);

// Where a peer may be reached, in the order to try. Returns corrupted when its record makes no sense.
Result<std::vector<HostPort>> addresses_to_call(const PeerRecord& peer, const PeerRecord& self,
                                                const std::vector<InterfaceAddress>& here);

// The secret of a lane, for the kind of frame check that the job uses.
transport::LaneSecret lane_secret(const Session& session, std::string_view integrity, bool encrypt);

// The peer's address as it appears in its record, found by the other end of a socket; port 0 when
// it is not in there.
HostPort reached_at(const PeerRecord& peer, const Fd& socket);

// The poller watches the sockets with kDoorKey.
std::shared_ptr<LiveConnector> make_live_connector(Fd listener, LiveSettings settings,
                                                   Poller& poller, const Clock& clock);

}  // namespace unisono::rendezvous
