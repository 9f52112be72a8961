// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "move/message/broadcast.hpp"

#include <algorithm>

#include "base/data/text.hpp"
#include "move/algorithms.hpp"
#include "move/message/patterns.hpp"

namespace unisono::move {

TreeBroadcast::TreeBroadcast(MoveContext context, int root, std::span<std::byte> data)
    : Machine("broadcast/tree", context), bytes_(data.size()) {
  const patterns::BinomialTree tree{context.n(), context.me(), root};
  if (tree.parent() >= 0) {
    from_parent_.emplace_back(context_, tree.parent(), Phase::scatter).receive_into(data);
  }
  for (int bit = tree.child_bits() - 1; bit >= 0; --bit) {
    if (tree.child(bit) < 0) continue;
    to_children_.emplace_back(context_, tree.child(bit), Phase::scatter).send_from(data);
  }
}

std::size_t TreeBroadcast::bytes_here() const {
  if (from_parent_.empty()) return bytes_;
  return std::min(bytes_, from_parent_.front().done() * kSegmentBytes);
}

bool TreeBroadcast::advance() {
  bool done = true;
  for (auto& parent : from_parent_) {
    parent.advance(pass_);
    done = parent.finished();
  }
  for (auto& child : to_children_) {
    child.advance(from_parent_.empty() ? child.segments() : from_parent_.front().done(), pass_);
    done = done && child.finished();
  }
  return done;
}

void TreeBroadcast::add_pending(OpenTransfer& pending) const {
  for (const auto* streams : {&from_parent_, &to_children_}) {
    for (const auto& stream : *streams) stream.add_pending(pending);
  }
}

std::string TreeBroadcast::phase() const {
  if (from_parent_.empty()) return "sending from the root";
  return cat(from_parent_.front().done(), " of ", from_parent_.front().segments(),
             " segments received");
}

std::unique_ptr<CollectiveMachine> make_broadcast_tree(MoveContext context, int root,
                                                       std::span<std::byte> data) {
  return std::make_unique<TreeBroadcast>(context, root, data);
}

}  // namespace unisono::move
