// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "move/message/ring/ring_part.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "move/message/tags.hpp"

namespace unisono::move {

RingPart::RingPart(const MoveContext& context, RingWork work, std::span<const int> order,
                   unsigned number)
    : context_(&context),
      work_(std::move(work)),
      phase_(static_cast<unsigned>(Phase::round) + number),
      n_(context.n()),
      partials_(work_.reduces && kernels::wants_partials(work_.dtype, work_.op)) {
  UNISONO_CHECK(order.size() == static_cast<std::size_t>(n_));
  UNISONO_CHECK(work_.slices.size() == order.size() && number < 8);
  if (n_ == 1) return;
  const int at = static_cast<int>(std::find(order.begin(), order.end(), context.me()) -
                                  order.begin());
  const auto rank_at = [&](int position) {
    return context.members->rank_of(order[static_cast<std::size_t>(patterns::wrap(position, n_))]);
  };
  right_ = rank_at(at + 1);
  left_ = rank_at(at - 1);
  // Without gathering the slice that is finished here must be the own one.
  const int first = work_.gathers ? at : at - 1;
  const int steps = work_.reduces && work_.gathers ? 2 * (n_ - 1) : n_ - 1;
  for (int step = 0; step <= steps; ++step) {
    add_slice(work_.slices[static_cast<std::size_t>(patterns::wrap(first - step, n_))], step);
  }
  const auto end_of = [&](int step) { return step_ends_[static_cast<std::size_t>(step)]; };
  first_received_ = end_of(0);
  around_ = end_of(n_ - 1);
  sent_end_ = end_of(steps - 1);
  if (work_.reduces) make_slots();
}

void RingPart::add_slice(const std::vector<patterns::Slice>& pieces, int step) {
  const std::size_t most = kSegmentBytes / width(partials_);
  for (const patterns::Slice& piece : pieces) {
    for (std::size_t begin = piece.begin; begin < piece.end;) {
      const std::size_t count = std::min(most, piece.end - begin);
      segments_.push_back({begin, count, step});
      begin += count;
    }
  }
  step_ends_.push_back(segments_.size());
}

// A slot is taken from when its segment is received to when it has been sent on, after all those
// that were received before it and all of step 0. With a slot for each of the latter, and a window
// more, whoever has received the least can always go on.
void RingPart::make_slots() {
  std::size_t most = step_ends_[0], widest = 0;
  for (std::size_t step = 1; step < step_ends_.size(); ++step) {
    most = std::max(most, step_ends_[step] - step_ends_[step - 1]);
  }
  for (const Segment& segment : segments_) widest = std::max(widest, segment.count);
  slots_ = std::max<std::size_t>(1, std::min(most + kWindow, around_ - first_received_));
  slot_bytes_ = widest * width(partials_);
  slot_memory_.reset(new std::byte[slots_ * slot_bytes_]);
}

void RingPart::advance(Pass& pass) {
  close_sends(pass);
  close_receives(pass);
  while (!pass.failed && can_send()) {
    open_send();
    pass.moved = true;
  }
  while (!pass.failed && can_receive()) {
    open_receive();
    pass.moved = true;
  }
}

// Segment i of step 1 or later was received, and reduced if need be, as number i - first_received_.
bool RingPart::can_send() const {
  if (sends_open_ == sent_end_ || sends_open_ == sends_done_ + kWindow) return false;
  if (sends_open_ < first_received_) return own_sent_ + segments_[sends_open_].count <= own_here_;
  return sends_open_ < first_received_ + receives_done_;
}

bool RingPart::can_receive() const {
  const std::size_t index = first_received_ + receives_open_;
  if (index >= segments_.size() || receives_open_ >= receives_done_ + kWindow) return false;
  // A segment that comes round again lands where it was sent from, so the send must be done first.
  if (index >= around_) return index - around_ < sends_done_;
  return !work_.reduces || receives_open_ < slots_ || index - slots_ < sends_done_;
}

std::byte* RingPart::result_at(const Segment& segment) const {
  if (work_.out == nullptr) return nullptr;  // this member's part is empty
  return work_.out + (segment.begin - work_.out_begin) * size_of(work_.dtype);
}
std::byte* RingPart::slot(std::size_t received) const {
  return slot_memory_.get() + (received % slots_) * slot_bytes_;
}
// Inputs that become partials lie at the end of what those take.
std::byte* RingPart::arrival_at(std::size_t received) const {
  const Segment& segment = segments_[first_received_ + received];
  if (!is_reduced(segment)) return result_at(segment);
  return slot(received) +
         segment.count * (width(partials_) - width(sends_partials(segment.step - 1)));
}

void RingPart::open_send() {
  const Segment& segment = segments_[sends_open_];
  const bool partial = sends_partials(segment.step);
  const std::byte* from = result_at(segment);
  if (work_.reduces && segment.step == 0) {
    from = static_cast<const std::byte*>(work_.in.at) + segment.begin * width(partial);
  } else if (work_.reduces && segment.step < n_ - 1) {
    from = slot(sends_open_ - first_received_);
  }
  transport::Transfer& transfer = sends_[sends_open_ % kWindow];
  transfer.state = transport::Transfer::State::idle;
  context_->transport->send(right_, label_of(sends_open_), {from, segment.count * width(partial)},
                            transfer);
  if (segment.step == 0) own_sent_ += segment.count;
  ++sends_open_;
}

void RingPart::open_receive() {
  const Segment& segment = segments_[first_received_ + receives_open_];
  transport::Transfer& transfer = receives_[receives_open_ % kWindow];
  transfer.state = transport::Transfer::State::idle;
  context_->transport->receive(
      left_, label_of(receives_open_),
      {arrival_at(receives_open_), segment.count * width(sends_partials(segment.step - 1))},
      transfer);
  ++receives_open_;
}

void RingPart::close_sends(Pass& pass) {
  while (sends_done_ < sends_open_) {
    const transport::Transfer& oldest = sends_[sends_done_ % kWindow];
    if (oldest.state == transport::Transfer::State::failed) pass.failed = true;
    if (!oldest.done()) return;
    ++sends_done_;
    pass.moved = true;
  }
}

void RingPart::close_receives(Pass& pass) {
  while (receives_done_ < receives_open_) {
    const transport::Transfer& oldest = receives_[receives_done_ % kWindow];
    if (oldest.state == transport::Transfer::State::failed) pass.failed = true;
    if (!oldest.done()) return;
    const Segment& segment = segments_[first_received_ + receives_done_];
    if (is_reduced(segment)) reduce(receives_done_);
    elements_received_ += segment.count;
    ++receives_done_;
    pass.moved = true;
  }
}

// What came round the ring is the left operand, the own contribution the right one.
void RingPart::reduce(std::size_t received) {
  const Segment& segment = segments_[first_received_ + received];
  const kernels::Operand came{arrival_at(received), sends_partials(segment.step - 1)};
  const kernels::Operand mine{static_cast<const std::byte*>(work_.in.at) +
                                  segment.begin * width(work_.in.partial),
                              work_.in.partial};
  const bool last = segment.step == n_ - 1;
  const std::array operands{came, mine};
  kernels::reduce_partials(work_.dtype, work_.op, last ? result_at(segment) : slot(received),
                           partials_ && !last, operands, segment.count);
}

// The n-th segment a member sends is the n-th its right neighbour receives.
transport::Label RingPart::label_of(std::size_t number) const {
  return tags::label_of(*context_, tags::step_of(phase_, number), kSegmentBytes);
}

void RingPart::add_pending(OpenTransfer& pending) const {
  if (receives_done_ < receives_open_) pending.receiving_from.push_back(left_);
  if (sends_done_ < sends_open_) pending.sending_to.push_back(right_);
}

}  // namespace unisono::move
