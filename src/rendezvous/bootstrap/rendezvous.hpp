// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The rendezvous: every rank connects to rank 0, sends its peer record, and receives those of all.
// Thread: the joining one. Blocks at most until the deadline.
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
  std::vector<std::unique_ptr<RecordStream>> channels;  // as RootExchange expects them
};

// `all_came` runs once all have come, before any rank is told, e.g. to remove the job file.
Result<RendezvousResult> rendezvous_as_root(BootstrapLoop& bootstrap, const PeerRecord& mine,
                                            double limit_s, const std::function<void()>& all_came);
Result<RendezvousResult> rendezvous_as_member(BootstrapLoop& bootstrap, const PeerRecord& mine,
                                              const std::vector<HostPort>& zero, Time deadline);

}  // namespace unisono::rendezvous
