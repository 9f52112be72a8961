// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/world.hpp"

#include "base/data/text.hpp"

namespace unisono::engine {

Status WorldCore::agree(const Options& options, Rank rank) {
  std::lock_guard lock(mutex_);
  if (!agreed_) {
    agreed_ = options;
    first_ = rank;
    return {};
  }
  if (options.agreed_hash() == agreed_->agreed_hash()) return {};
  for (const OptionRow& row : option_table()) {
    const std::string mine = options.get(row.key), theirs = agreed_->get(row.key);
    if (!row.agreed || mine == theirs) continue;
    return Status(Code::refused,
                  cat("option ", row.key, ": rank ", first_, " has ", theirs, ", rank ", rank,
                      " has ", mine, "; give every rank the same ", row.variable),
                  Culprit{rank, {}, 0, {}});
  }
  return {};
}

std::vector<int> WorldCore::host_of() const {
  std::vector<int> hosts;
  for (int rank = 0; rank < static_cast<int>(shown_.size()); ++rank) {
    hosts.push_back(rank / ranks_per_host_);
  }
  return hosts;
}

void WorldCore::show(Rank rank, const arena::Neighbourhood& mine, const Doorbell& bell) {
  std::lock_guard lock(mutex_);
  shown_[static_cast<std::size_t>(rank)] = {mine.share_own(), bell.page(), bell.ringer()};
}

void WorldCore::meet(Rank rank, arena::Neighbourhood& mine) const {
  std::lock_guard lock(mutex_);
  const auto host_of = [&](std::size_t peer) {
    return peer / static_cast<std::size_t>(ranks_per_host_);
  };
  std::vector shares(shown_.size(), std::vector<bool>(shown_.size()));
  for (std::size_t peer = 0; peer < shown_.size(); ++peer) {
    for (std::size_t other = 0; other < shown_.size(); ++other) {
      shares[peer][other] = host_of(peer) == host_of(other);
    }
    const bool here = host_of(peer) == host_of(static_cast<std::size_t>(rank));
    if (static_cast<Rank>(peer) == rank || !here) continue;
    mine.add(static_cast<Rank>(peer), shown_[peer].segment, shown_[peer].bell, shown_[peer].page);
  }
  mine.settle(std::move(shares));
}

}  // namespace unisono::engine
