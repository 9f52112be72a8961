// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// broadcast down a binomial tree, the largest subtree first; a segment is passed on as soon as it
// has arrived.
// Steps: log2 n, plus one per further segment. Bytes sent by the root: log2 n times the data.
// Thread: the one that drives the engine.
#pragma once

#include <deque>

#include "move/message/segment_stream.hpp"

namespace unisono::move {

class TreeBroadcast final : public Machine {
 public:
  TreeBroadcast(MoveContext context, int root, std::span<std::byte> data);
  std::size_t bytes_here() const;           // the data is whole up to there

 private:
  bool advance() override;
  void add_pending(OpenTransfer& pending) const override;
  std::string phase() const override;

  const std::size_t bytes_;
  std::deque<SegmentStream> from_parent_;   // one, none at the root
  std::deque<SegmentStream> to_children_;
};

}  // namespace unisono::move
