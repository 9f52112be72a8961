// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// allreduce and allgather around a ring. In step t every member sends slice (me - t) to its right
// and receives slice (me - t - 1) from its left, which it sends on in step t + 1. allreduce makes
// 2 (n-1) steps: in the first n-1 what arrives is reduced into the own copy, afterwards it replaces
// that copy. allgather makes only the last n-1.
// Steps: as above. Bytes sent per member: 2 (n-1)/n of the data, (n-1)/n for allgather. Wins with
// many members and large data: every link carries the same load and each member talks to two.
// A slice is cut into segments; one is reduced while the next travels. The segments a member
// receives are, in order, those it sends from step 1 on, so both are one list.
#include <algorithm>
#include <array>
#include <vector>

#include "base/data/text.hpp"
#include "kernels/kernels.hpp"
#include "move/algorithms.hpp"
#include "move/message/machine.hpp"
#include "move/message/patterns.hpp"
#include "move/message/segment_stream.hpp"
#include "move/message/tags.hpp"

namespace unisono::move {

namespace {

// How a ring reduces; absent in allgather.
struct Reduction {
  DType dtype = DType::f32;
  ReduceOp op = ReduceOp::sum;
  bool present = false;
};

class Ring final : public Machine {
 public:
  // begin[j] .. begin[j + 1] are the bytes of slice j.
  Ring(std::string name, MoveContext context, Reduction reduction,
       const std::vector<std::size_t>& begin, std::span<std::byte> data)
      : Machine(std::move(name), context),
        reduction_(reduction),
        data_(data),
        right_(context.members->rank_of(patterns::ring_right(context.me(), context.n()))),
        left_(context.members->rank_of(patterns::ring_left(context.me(), context.n()))) {
    const int n = context.n();
    const int steps = reduction.present ? 2 * (n - 1) : n - 1;
    for (int t = 0; t <= steps && n > 1; ++t) {
      const auto j = static_cast<std::size_t>(patterns::wrap(context.me() - t, n));
      add_segments(begin[j], begin[j + 1]);
      if (t == 0) first_received_ = segments_.size();
      if (t == n - 1) reduced_end_ = reduction.present ? segments_.size() : 0;
      if (t == n - 1) around_ = segments_.size();
      if (t == steps - 1) sent_end_ = segments_.size();
    }
    if (reduction.present && n > 1) scratch_.resize(kWindow * std::min(kSegmentBytes, data.size()));
  }

 private:
  struct Segment {
    std::size_t begin, length;
  };

  void add_segments(std::size_t begin, std::size_t end) {
    for (; begin < end; begin += std::min(kSegmentBytes, end - begin)) {
      segments_.push_back({begin, std::min(kSegmentBytes, end - begin)});
    }
  }

  bool advance() override {
    close_sends();
    close_receives();
    while (!pass_.failed && can_send()) open_send();
    while (!pass_.failed && can_receive()) open_receive();
    return sends_done_ == sent_end_ && receives_done_ == segments_.size() - first_received_;
  }

  // Segment i of step 1 or later was received, and reduced if need be, as number
  // i - first_received_.
  bool can_send() const {
    return sends_open_ < sent_end_ && sends_open_ < sends_done_ + kWindow &&
           sends_open_ < first_received_ + receives_done_;
  }
  // A segment that comes round again lands where it was sent from, so the send must be done first.
  bool can_receive() const {
    const std::size_t segment = first_received_ + receives_open_;
    return segment < segments_.size() && receives_open_ < receives_done_ + kWindow &&
           (segment < around_ || segment - around_ < sends_done_);
  }

  void open_send() {
    const Segment segment = segments_[sends_open_];
    transport::Transfer& transfer = sends_[sends_open_ % kWindow];
    transfer.state = transport::Transfer::State::idle;
    context_.transport->send(right_, label_of(sends_open_),
                             data_.subspan(segment.begin, segment.length), transfer);
    ++sends_open_;
    pass_.moved = true;
  }

  void open_receive() {
    const std::size_t index = first_received_ + receives_open_;
    const Segment segment = segments_[index];
    transport::Transfer& transfer = receives_[receives_open_ % kWindow];
    transfer.state = transport::Transfer::State::idle;
    std::byte* target = index < reduced_end_ ? slot(receives_open_) : data_.data() + segment.begin;
    context_.transport->receive(left_, label_of(receives_open_), {target, segment.length},
                                transfer);
    ++receives_open_;
    pass_.moved = true;
  }

  void close_sends() {
    while (sends_done_ < sends_open_) {
      const transport::Transfer& oldest = sends_[sends_done_ % kWindow];
      if (oldest.state == transport::Transfer::State::failed) pass_.failed = true;
      if (!oldest.done()) return;
      ++sends_done_;
      pass_.moved = true;
    }
  }

  void close_receives() {
    while (receives_done_ < receives_open_) {
      const transport::Transfer& oldest = receives_[receives_done_ % kWindow];
      if (oldest.state == transport::Transfer::State::failed) pass_.failed = true;
      if (!oldest.done()) return;
      if (first_received_ + receives_done_ < reduced_end_) reduce(receives_done_);
      ++receives_done_;
      pass_.moved = true;
    }
  }

  // What came round the ring is the left operand, the own contribution the right one.
  void reduce(std::size_t received) {
    const Segment segment = segments_[first_received_ + received];
    std::byte* mine = data_.data() + segment.begin;
    const std::array<const void*, 2> operands{slot(received), mine};
    kernels::reduce_many(reduction_.dtype, reduction_.op, mine, operands,
                         segment.length / size_of(reduction_.dtype));
  }

  std::byte* slot(std::size_t received) {
    return scratch_.data() + (received % kWindow) * (scratch_.size() / kWindow);
  }
  // The n-th segment a member sends is the n-th its right neighbour receives.
  transport::Label label_of(std::size_t number) const {
    constexpr auto kRound = static_cast<unsigned>(Phase::round);
    return {tags::pack(context_.set, context_.bucket, tags::step_of(kRound, number)),
            context_.identity};
  }

  void add_pending(OpenTransfer& pending) const override {
    if (receives_done_ < receives_open_) pending.receiving_from.push_back(left_);
    if (sends_done_ < sends_open_) pending.sending_to.push_back(right_);
  }
  std::string phase() const override {
    return cat(receives_done_, " of ", segments_.size() - first_received_, " segments received, ",
               sends_done_, " of ", sent_end_, " sent");
  }

  const Reduction reduction_;
  const std::span<std::byte> data_;
  const Rank right_, left_;
  std::vector<Segment> segments_;    // of steps 0, 1, ...: sent up to sent_end_
  std::size_t first_received_ = 0;   // segments of step 0 are only sent
  std::size_t reduced_end_ = 0;      // segments before it arrive to be reduced
  std::size_t around_ = 0;           // segments in one turn of the ring
  std::size_t sent_end_ = 0;
  std::vector<std::byte> scratch_;
  std::array<transport::Transfer, kWindow> sends_, receives_;
  std::size_t sends_open_ = 0, sends_done_ = 0, receives_open_ = 0, receives_done_ = 0;
};

}  // namespace

std::unique_ptr<CollectiveMachine> make_allreduce_ring(MoveContext context, DType dtype,
                                                       ReduceOp op, std::span<std::byte> data) {
  const std::size_t width = size_of(dtype);
  std::vector<std::size_t> begin;
  for (int j = 0; j < context.n(); ++j) {
    begin.push_back(patterns::slice_of(data.size() / width, context.n(), j).begin * width);
  }
  begin.push_back(data.size());
  return std::make_unique<Ring>("allreduce/ring", context, Reduction{dtype, op, true}, begin, data);
}

std::unique_ptr<CollectiveMachine> make_allgather_ring(MoveContext context,
                                                       std::span<const std::byte>,
                                                       const Extents& counts,
                                                       std::span<std::byte> out) {
  std::vector<std::size_t> begin{0};
  for (const std::size_t count : counts) begin.push_back(begin.back() + count);
  return std::make_unique<Ring>("allgather/ring", context, Reduction{}, begin, out);
}

}  // namespace unisono::move
