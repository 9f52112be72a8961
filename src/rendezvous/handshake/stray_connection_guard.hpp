// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Rank 0's door while the job runs; the contract is StrayConnectionGuard's in join.hpp.
#pragma once

#include <memory>

#include "base/os/fd.hpp"
#include "rendezvous/handshake/handshake.hpp"
#include "rendezvous/bootstrap/join.hpp"

namespace unisono::rendezvous {

// `before`: strangers that were sent away during the join already.
std::unique_ptr<StrayConnectionGuard> make_stray_guard(Fd listener, const JobKey& key,
                                                       Poller& poller, const Clock& clock,
                                                       std::uint64_t before);

}  // namespace unisono::rendezvous
