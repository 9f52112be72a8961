// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// allreduce over binary trees, pipelined: segments are reduced on their way up to the root and sent
// down again as they are finished. With two trees each takes half of the data, and whoever has
// children in one is a leaf in the other, so that every member sends and receives about as much.
// Steps: 2 log2 n, and one for every further segment. Bytes sent per member: up to 3 times the data
// with one tree, 2 times with two. Wins with very many members, where log2 n counts.
// A node reduces its own segment with those of its children in a fixed order, so all bits agree.
// Sums of 16- and 8-bit floats go up as float32 partials, but from leaves, and down rounded.
#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "base/data/text.hpp"
#include "kernels/kernels.hpp"
#include "move/algorithms.hpp"
#include "move/message/patterns.hpp"
#include "move/message/segment_stream.hpp"

namespace unisono::move {

namespace {

// One tree with its part of the data.
class TreePart {
 public:
  TreePart(const MoveContext& context, DType dtype, ReduceOp op, std::span<std::byte> data,
           unsigned number)
      : dtype_(dtype), op_(op), data_(data) {
    const patterns::BinaryTree tree{context.n(), context.me(), number == 1};
    const std::size_t widened = kernels::wants_partials(dtype, op) ? sizeof(float) / size_of(dtype)
                                                                   : 1;
    const std::size_t segment_bytes = kSegmentBytes / widened;
    cut_region({.in = data, .out = data}, 0, data.size(), segment_bytes, segments_);
    is_root_ = tree.parent() < 0;
    const bool is_leaf = tree.child(0) < 0;
    if (widened > 1 && !is_leaf) {
      partials_memory_.reset(new std::byte[data.size() * widened]);
      const std::span<std::byte> memory(partials_memory_.get(), data.size() * widened);
      cut_region({.in = memory, .out = memory}, 0, memory.size(), kSegmentBytes, partials_);
    }
    const unsigned up = 2 * number, down = up + 1;
    slot_bytes_ = std::min(kSegmentBytes, data.size() * widened);
    slots_ = std::min(segments_.size(), kWindow);
    for (int side = 0; side < 2; ++side) {
      const int child = tree.child(side);
      if (child < 0) continue;
      const bool is_inner = patterns::BinaryTree{context.n(), child, number == 1}.child(0) >= 0;
      sends_partials_.push_back(widened > 1 && is_inner);
      scratch_.emplace_back(new std::byte[slots_ * slot_bytes_]);
      from_children_.emplace_back(context, child, Phase::round, up)
          .receive_through(scratch_.back().get(), slot_bytes_,
                           sends_partials_.back() ? partials_ : segments_);
      to_children_.emplace_back(context, child, Phase::round, down).send_outputs(segments_);
    }
    if (is_root_) return;
    to_parent_.emplace_back(context, tree.parent(), Phase::round, up)
        .send_inputs(partials_.empty() ? segments_ : partials_);
    from_parent_.emplace_back(context, tree.parent(), Phase::round, down)
        .receive_outputs(segments_);
  }

  void advance(Pass& pass) {
    for (auto& child : from_children_) child.advance(reduced_ + kWindow, pass);
    while (!pass.failed && reduced_ < segments_.size() && arrived(reduced_)) {
      reduce(reduced_++);
      pass.moved = true;
    }
    std::size_t finished = reduced_;
    if (!to_parent_.empty()) {
      to_parent_.front().advance(reduced_, pass);
      // The result lands where the contribution lies, which must have left first.
      from_parent_.front().advance(to_parent_.front().done(), pass);
      finished = from_parent_.front().done();
    }
    for (auto& child : to_children_) child.advance(finished, pass);
  }
  bool finished() const {
    const auto over = [](const SegmentStream& stream) { return stream.finished(); };
    return reduced_ == segments_.size() &&
           std::all_of(from_parent_.begin(), from_parent_.end(), over) &&
           std::all_of(to_children_.begin(), to_children_.end(), over);
  }
  void add_pending(OpenTransfer& pending) const {
    for (const auto* streams : {&from_children_, &to_parent_, &from_parent_, &to_children_}) {
      for (const auto& stream : *streams) stream.add_pending(pending);
    }
  }
  std::size_t reduced() const { return reduced_; }
  std::size_t segments() const { return segments_.size(); }

 private:
  bool arrived(std::size_t segment) const {
    return std::all_of(from_children_.begin(), from_children_.end(),
                       [&](const SegmentStream& stream) { return stream.done() > segment; });
  }

  void reduce(std::size_t index) {
    if (from_children_.empty()) return;
    const Segment& segment = segments_[index];
    std::array<kernels::Operand, 3> inputs{kernels::Operand{segment.in.data()}};
    std::size_t count = 1;
    for (std::size_t child = 0; child < scratch_.size(); ++child) {
      inputs[count++] = {scratch_[child].get() + index % kWindow * slot_bytes_,
                         sends_partials_[child]};
    }
    const bool rounds = is_root_ || partials_.empty();
    kernels::reduce_partials(dtype_, op_,
                             rounds ? segment.out.data() : partials_[index].out.data(), !rounds,
                             std::span(inputs).first(count), segment.in.size() / size_of(dtype_));
  }

  const DType dtype_;
  const ReduceOp op_;
  const std::span<std::byte> data_;
  std::vector<Segment> segments_;
  std::vector<Segment> partials_;           // in step with segments_; empty: there are none
  std::unique_ptr<std::byte[]> partials_memory_;
  bool is_root_ = false;
  std::vector<bool> sends_partials_;        // of each child
  std::size_t slot_bytes_ = 0, slots_ = 0, reduced_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> scratch_;  // of each child
  std::deque<SegmentStream> from_children_, to_parent_, from_parent_, to_children_;
};

class TreeAllreduce final : public Machine {
 public:
  TreeAllreduce(std::string name, MoveContext context, DType dtype, ReduceOp op,
                std::span<std::byte> data, unsigned trees)
      : Machine(std::move(name), context) {
    const std::size_t width = size_of(dtype);
    for (unsigned i = 0; i < trees; ++i) {
      const auto slice = patterns::slice_of(data.size() / width, static_cast<int>(trees),
                                            static_cast<int>(i));
      parts_.emplace_back(context_, dtype, op,
                          data.subspan(slice.begin * width, slice.count() * width), i);
    }
  }

 private:
  bool advance() override {
    bool done = true;
    for (TreePart& part : parts_) {
      part.advance(pass_);
      done = done && part.finished();
    }
    return done;
  }
  void add_pending(OpenTransfer& pending) const override {
    for (const TreePart& part : parts_) part.add_pending(pending);
  }
  std::string phase() const override {
    std::size_t reduced = 0, segments = 0;
    for (const TreePart& part : parts_) {
      reduced += part.reduced();
      segments += part.segments();
    }
    return cat(reduced, " of ", segments, " segments reduced here");
  }

  std::deque<TreePart> parts_;
};

}  // namespace

std::unique_ptr<CollectiveMachine> make_allreduce_tree(MoveContext context, DType dtype,
                                                       ReduceOp op, std::span<std::byte> data) {
  return std::make_unique<TreeAllreduce>("allreduce/tree", context, dtype, op, data, 1);
}

std::unique_ptr<CollectiveMachine> make_allreduce_double_tree(MoveContext context, DType dtype,
                                                              ReduceOp op,
                                                              std::span<std::byte> data) {
  return std::make_unique<TreeAllreduce>("allreduce/double_tree", context, dtype, op, data, 2);
}

}  // namespace unisono::move
