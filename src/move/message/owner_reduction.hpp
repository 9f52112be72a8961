// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The one place where a part is reduced: its owner receives every other member's contribution,
// segment by segment, and reduces all of them in member order in one pass, so that 16-bit floats
// round once and the result does not depend on who came first.
// Thread: the one that drives the engine.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <vector>

#include "move/message/segment_stream.hpp"

namespace unisono::move {

class OwnerReduction {
 public:
  // mine is this member's own contribution; out may be the same bytes.
  OwnerReduction(const MoveContext& context, DType dtype, ReduceOp op,
                 std::span<const std::byte> mine, std::span<std::byte> out);

  void advance(Pass& pass);
  std::size_t done() const { return done_; }  // segments 0 .. done()-1 of out hold the result
  bool finished() const { return done_ == segments_; }
  void add_pending(OpenTransfer& pending) const;
  std::string phase() const;

 private:
  bool arrived(std::size_t segment) const;
  void reduce(std::size_t segment);

  const MoveContext* context_;
  const DType dtype_;
  const ReduceOp op_;
  const std::span<const std::byte> mine_;
  const std::span<std::byte> out_;
  std::size_t segments_ = 0, done_ = 0;
  std::size_t slots_bytes_ = 0;             // scratch of one contributor
  std::vector<std::byte> scratch_;
  std::deque<SegmentStream> contributions_; // in member order, without me
  std::vector<const void*> inputs_;         // in member order
};

}  // namespace unisono::move
