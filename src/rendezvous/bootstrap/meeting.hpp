// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// First meeting: every rank calls rank 0, shows its card, and gets everybody's cards back.
// Thread: the joining one. Blocks until the deadline at most.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "rendezvous/identity/card.hpp"
#include "rendezvous/bootstrap/lobby.hpp"
#include "rendezvous/connect/sockets.hpp"

namespace unisono {

struct Met {
  std::vector<Card> cards;                               // by rank, without their options
  std::vector<std::unique_ptr<RecordChannel>> channels;  // as Council wants them
};

// `all_came` runs before anybody is told, e.g. to take the job file away.
Result<Met> meet_as_zero(Lobby& lobby, const Card& mine, double limit_s,
                         const std::function<void()>& all_came);
Result<Met> meet_as_member(Lobby& lobby, const Card& mine, const HostPort& zero, Time deadline);

}  // namespace unisono
