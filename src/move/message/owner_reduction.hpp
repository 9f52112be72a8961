// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The one place where a slice is reduced: its owner receives every other member's contribution,
// segment by segment, and reduces all of them in member order in one pass, so that 16-bit floats
// round once and the result does not depend on who came first. Contributions that are longer than
// their results are float32 partials. What is left of an average or of a scaling is done right
// after, while the segment is in the cache.
// Thread: the one that drives the engine.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/kernels.hpp"
#include "move/message/segment_stream.hpp"

namespace unisono::move {

class OwnerReduction {
 public:
  // What to do with segments that all contributions have arrived for.
  enum class Do : std::uint8_t { wait, reduce, drop };

  // The list outlives the reduction. So does scratch, of scratch_bytes_max(); where it is empty the
  // reduction has its own, of what it needs.
  OwnerReduction(const MoveContext& context, DType dtype, ReduceOp op,
                 std::span<const Segment> segments, std::span<std::byte> scratch = {},
                 unsigned round = 0);
  static std::size_t scratch_bytes_max(int members) {
    return kWindow * kSegmentBytes * static_cast<std::size_t>(members - 1);
  }

  // limit: this member's own contribution is there for so many segments.
  void advance(Pass& pass, Do what = Do::reduce, std::size_t limit = SIZE_MAX);
  std::size_t done() const { return done_; }  // segments 0 .. done()-1 hold the result
  bool finished() const { return done_ == segments_.size(); }
  void add_pending(OpenTransfer& pending) const;
  std::string phase() const;
  void abandon();

 private:
  bool arrived(std::size_t segment) const;
  void reduce(std::size_t segment);

  const MoveContext* context_;
  const DType dtype_;
  const ReduceOp op_;
  const std::span<const Segment> segments_;
  std::size_t done_ = 0;
  std::unique_ptr<std::byte[]> own_scratch_;
  std::byte* scratch_ = nullptr;            // slots of each contributor
  std::size_t slot_bytes_ = 0, slots_ = 0;
  std::deque<SegmentStream> contributions_; // in member order, without me
  std::vector<kernels::Operand> inputs_;    // in member order
};

}  // namespace unisono::move
