// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Serves rank 0's listening socket while the job runs; join.hpp has the contract of
// StrayConnectionGuard.
#pragma once

#include <memory>

#include "base/os/fd.hpp"
#include "rendezvous/handshake/handshake.hpp"
#include "rendezvous/bootstrap/join.hpp"

namespace unisono::rendezvous {

// `before`: the number of strangers that were refused during the join.
std::unique_ptr<StrayConnectionGuard> make_stray_guard(Fd listener, const JobKey& key,
                                                       Poller& poller, const Clock& clock,
                                                       std::uint64_t before);

}  // namespace unisono::rendezvous
