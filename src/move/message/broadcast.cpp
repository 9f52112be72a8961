// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// broadcast down a binomial tree, the largest subtree first; a segment is passed on as soon as it
// has arrived.
// Steps: log2 n, plus one per further segment. Bytes sent by the root: log2 n times the data.
#include <deque>

#include "base/check.hpp"
#include "base/data/text.hpp"
#include "move/collective.hpp"
#include "move/message/patterns.hpp"
#include "move/message/segment_stream.hpp"

namespace unisono::move {

namespace {

class TreeBroadcast final : public Machine {
 public:
  TreeBroadcast(MoveContext context, int root, std::span<std::byte> data)
      : Machine("broadcast/tree", context) {
    const patterns::BinomialTree tree{context.n(), context.me(), root};
    if (tree.parent() >= 0) {
      from_parent_.emplace_back(context_, tree.parent(), Phase::scatter).receive_into(data);
    }
    for (int bit = tree.child_bits() - 1; bit >= 0; --bit) {
      if (tree.child(bit) < 0) continue;
      to_children_.emplace_back(context_, tree.child(bit), Phase::scatter).send_from(data);
    }
  }

 private:
  bool advance() override {
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
  void add_pending(OpenTransfer& pending) const override {
    for (const auto* streams : {&from_parent_, &to_children_}) {
      for (const auto& stream : *streams) stream.add_pending(pending);
    }
  }
  std::string phase() const override {
    if (from_parent_.empty()) return "sending from the root";
    return cat(from_parent_.front().done(), " of ", from_parent_.front().segments(),
               " segments received");
  }

  std::deque<SegmentStream> from_parent_;  // one, none at the root
  std::deque<SegmentStream> to_children_;
};

}  // namespace

std::unique_ptr<CollectiveMachine> make_broadcast(MoveContext context, int root,
                                                  std::span<std::byte> data) {
  UNISONO_CHECK(root >= 0 && root < context.n());
  return std::make_unique<TreeBroadcast>(context, root, data);
}

}  // namespace unisono::move
