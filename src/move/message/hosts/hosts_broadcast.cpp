// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// broadcast, hierarchical, for members on several hosts: of every host the member with the root's
// place receives the data, down a tree of these, and the others of its host copy it from its window.
// A host with fewer members counts places from its first one again.
// Steps: log2 h between h hosts, and one in memory for each chunk. Bytes sent by the root's host:
// log2 h times the data, however many ranks the hosts have.
#include <algorithm>
#include <optional>
#include <vector>

#include "move/algorithms.hpp"
#include "move/message/broadcast.hpp"
#include "move/message/hosts/hosts_machine.hpp"
#include "move/message/patterns.hpp"

namespace unisono::move {

namespace {

class HierarchicalBroadcast final : public HostsMachine {
 public:
  HierarchicalBroadcast(MoveContext context, int root, std::span<std::byte> data)
      : HostsMachine("broadcast/hierarchical", context), data_(data) {
    const Rank root_rank = context.members->rank_of(root);
    std::size_t place = 0;
    for (const auto& host : groups().hosts) {
      const auto at = std::find(host.begin(), host.end(), root_rank);
      if (at != host.end()) place = static_cast<std::size_t>(at - host.begin());
    }
    place_ = groups().here.index_of(groups().at(groups().home, place));
    if (!is_alone()) chunks_ = patterns::segments_in(data.size(), kChunkBytes);
    if (team().me() != place_) return;
    std::vector<Rank> receivers;
    for (std::size_t host = 0; host < groups().hosts.size(); ++host) {
      receivers.push_back(groups().at(host, place));
    }
    std::sort(receivers.begin(), receivers.end());
    receivers_ = Members::of(std::move(receivers), groups().here.rank_of(place_));
    across_context_.members = &receivers_;
    tree_.emplace(across_context_, receivers_.index_of(root_rank), data);
    use_wire(&*tree_);
  }

 private:
  std::span<std::byte> chunk_at(std::size_t chunk) const {
    const std::size_t begin = chunk * kChunkBytes;
    return data_.subspan(begin, std::min(kChunkBytes, data_.size() - begin));
  }
  bool is_here(std::size_t chunk) const override {
    return !tree_ || tree_->bytes_here() >= chunk * kChunkBytes + chunk_at(chunk).size();
  }
  std::unique_ptr<LocalCollective> share(const LocalTurn& turn, std::size_t chunk) override {
    return make_local_broadcast(turn, place_, chunk_at(chunk), chunk_at(chunk));
  }

  const std::span<std::byte> data_;
  int place_ = 0;                           // of the one that receives on this host
  Members receivers_;                       // one of every host
  std::optional<TreeBroadcast> tree_;       // of those
};

}  // namespace

std::unique_ptr<CollectiveMachine> make_broadcast_hierarchical(MoveContext context, int root,
                                                               std::span<std::byte> data) {
  return std::make_unique<HierarchicalBroadcast>(context, root, data);
}

}  // namespace unisono::move
