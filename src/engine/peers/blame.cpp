// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/peers/blame.hpp"

#include <algorithm>
#include <chrono>
#include <string>

#include "base/data/text.hpp"
#include "order/agree/tally.hpp"

namespace unisono::engine {
namespace {
// A suspect may have ended because of another rank, whose end is about to be seen, too, or is told by
// a third. This is long enough for the third to get a core back on a crowded machine; 10 ms were not.
constexpr Nanos kGrace = std::chrono::milliseconds(50);
}  // namespace

Blame::Blame(std::span<const PeerInfo> peers) : leavers(peers.size()), peers_(peers) {}

void Blame::suspect(Rank rank, const Status& why, Time now) {
  suspects_.emplace_back(rank, why);
  if (due_ == kNever) due_ = now + kGrace;
}

Status Blame::take_suspect() {
  const auto lowest =
      std::min_element(suspects_.begin(), suspects_.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
  Status why = lowest->second;
  acquit();
  return why;
}

void Blame::acquit() {
  suspects_.clear();
  due_ = kNever;
}

Status Blame::left_in_the_middle(Rank rank) const {
  const PeerInfo& peer = info(rank);
  return Status(Code::peer_left,
                cat(peer.to_string(),
                    " has shut down in the middle of a collective. "
                    "Let all ranks run the same number of operations, or join before leaving."),
                Culprit{peer.rank, peer.host, peer.pid, {}});
}

Status Blame::first_cause(const Members& members, const Status& status) const {
  if (status.code() != Code::peer_left && status.code() != Code::peer_lost) return status;
  const Rank first = leavers.first_of(members);
  const bool is_named = first == status.culprit().rank && status.code() == Code::peer_left;
  if (first < 0 || is_named) return status;
  const PeerInfo& peer = info(first);
  Culprit culprit{peer.rank, peer.host, peer.pid, status.culprit().tensor};
  if (!culprit.tensor.empty()) {
    std::string message = order::peer_left_error(first, culprit.tensor).message();
    return Status(Code::peer_left, std::move(message), std::move(culprit));
  }
  return Status(Code::peer_left,
                cat(peer.to_string(),
                    " has shut down, and its process set needs every rank. Let all "
                    "ranks run the same number of operations, or join before leaving."),
                std::move(culprit));
}

Status Blame::named(const Status& status, const Members& members) const {
  Culprit culprit = status.culprit();
  const bool known =
      culprit.rank >= 0 && static_cast<std::size_t>(culprit.rank) < peers_.size();
  if (!known || !culprit.host.empty()) return status;
  std::string message = status.message();
  const bool left = status.code() == Code::peer_left;
  if (const Rank first = left ? leavers.first_of(members) : -1;
      first >= 0 && first != culprit.rank) {
    culprit.rank = first;
    message = order::peer_left_error(first, culprit.tensor).message();
  }
  const PeerInfo& peer = info(culprit.rank);
  culprit.host = peer.host;
  culprit.pid = peer.pid;
  return Status(status.code(), std::move(message), std::move(culprit));
}

}  // namespace unisono::engine
