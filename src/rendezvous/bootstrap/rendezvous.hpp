// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// First meeting: every rank calls rank 0, sends its peer record, and receives those of all.
// Thread: the joining one. Blocks until the deadline at most.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "rendezvous/identity/peer_record.hpp"
#include "rendezvous/bootstrap/bootstrap_loop.hpp"
#include "rendezvous/connect/sockets.hpp"

namespace unisono::rendezvous {

struct RendezvousResult {
  std::vector<PeerRecord> peer_records;                 // by rank, without their options
  std::vector<std::unique_ptr<RecordStream>> channels;  // as RootExchange wants them
};

// `all_came` runs before anybody is told, e.g. to take the job file away.
Result<RendezvousResult> rendezvous_as_root(BootstrapLoop& bootstrap, const PeerRecord& mine,
                                            double limit_s, const std::function<void()>& all_came);
Result<RendezvousResult> rendezvous_as_member(BootstrapLoop& bootstrap, const PeerRecord& mine,
                                              const HostPort& zero, Time deadline);

}  // namespace unisono::rendezvous
