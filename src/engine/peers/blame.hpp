// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Whom an error names when ranks have left or were lost. All survivors name the same one: the first
// that left; or else the lowest of those that were lost. Pure. Thread: the engine's driver.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "engine/peers/leavers.hpp"
#include "model/peer.hpp"
#include "unisono/status.hpp"

namespace unisono::engine {

class Blame {
 public:
  explicit Blame(std::span<const PeerInfo> peers);  // which outlive it

  Leavers leavers;

  // A rank was lost. It may have ended because of another, which is heard of soon.
  void suspect(Rank rank, const Status& why, Time now);
  // When a suspect is to be blamed; kNever without one.
  Time due() const { return due_; }
  // Why the one to blame was lost. Nobody is suspected afterwards.
  Status take_suspect();
  // The job has failed for a reason that is known.
  void acquit();

  Status left_in_the_middle(Rank rank) const;
  // What a loss or a leave means for an operation of these members: it could not have run since the
  // first of them left.
  Status first_cause(const Members& members, const Status& status) const;
  // The same status with host and process of the rank it names. An order knows only ranks, and not
  // who left before whom.
  Status named(const Status& status, const Members& members) const;

 private:
  const PeerInfo& info(Rank rank) const { return peers_[static_cast<std::size_t>(rank)]; }

  std::span<const PeerInfo> peers_;
  std::vector<std::pair<Rank, Status>> suspects_;
  Time due_ = kNever;
};

}  // namespace unisono::engine
