// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "move/message/segment_stream.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "move/message/patterns.hpp"
#include "move/message/tags.hpp"

namespace unisono::move {

SegmentStream::SegmentStream(const MoveContext& context, int member, Phase phase, unsigned round)
    : context_(&context),
      peer_(context.members->rank_of(member)),
      phase_(static_cast<unsigned>(phase) + round) {}

void SegmentStream::send_from(std::span<const std::byte> bytes, std::size_t segment_bytes) {
  way_ = Way::bytes_out;
  source_ = bytes;
  segment_bytes_ = segment_bytes != 0 ? segment_bytes : std::max<std::size_t>(bytes.size(), 1);
  segments_ = patterns::segments_in(bytes.size(), segment_bytes_);
}

void SegmentStream::receive_into(std::span<std::byte> bytes, std::size_t segment_bytes) {
  way_ = Way::bytes_in;
  target_ = bytes;
  segment_bytes_ = segment_bytes != 0 ? segment_bytes : std::max<std::size_t>(bytes.size(), 1);
  segments_ = patterns::segments_in(bytes.size(), segment_bytes_);
}

void SegmentStream::send_inputs(std::span<const Segment> segments) {
  use(segments, Way::inputs_out);
}
void SegmentStream::send_outputs(std::span<const Segment> segments) {
  use(segments, Way::outputs_out);
}
void SegmentStream::receive_outputs(std::span<const Segment> segments) {
  use(segments, Way::outputs_in);
}
void SegmentStream::receive_through(std::byte* slots, std::size_t slot_bytes,
                                    std::span<const Segment> segments) {
  use(segments, Way::slots_in);
  segment_bytes_ = slot_bytes;
  target_ = {slots, std::min(kWindow, segments.size()) * slot_bytes};
}

void SegmentStream::use(std::span<const Segment> list, Way way) {
  way_ = way;
  list_ = list;
  segments_ = list.size();
}

void SegmentStream::advance(std::size_t limit, Pass& pass) {
  while (done_ < opened_) {
    transport::Transfer& oldest = transfers_[done_ % kWindow];
    if (oldest.state == transport::Transfer::State::failed) pass.failed = true;
    if (!oldest.done()) break;
    ++done_;
    pass.moved = true;
  }
  while (!pass.failed && opened_ < std::min(limit, segments_) && opened_ < done_ + kWindow) {
    open(opened_++);
    pass.moved = true;
  }
}

std::span<const std::byte> SegmentStream::source(std::size_t segment) const {
  if (way_ == Way::inputs_out) return list_[segment].in;
  if (way_ == Way::outputs_out) return list_[segment].out;
  const std::size_t begin = segment * segment_bytes_;
  return source_.subspan(begin, std::min(segment_bytes_, source_.size() - begin));
}

std::span<std::byte> SegmentStream::target(std::size_t segment) const {
  if (way_ == Way::outputs_in) return list_[segment].out;
  if (way_ == Way::slots_in) {
    return target_.subspan((segment % kWindow) * segment_bytes_, list_[segment].in.size());
  }
  const std::size_t begin = segment * segment_bytes_;
  return target_.subspan(begin, std::min(segment_bytes_, target_.size() - begin));
}

void SegmentStream::open(std::size_t segment) {
  const std::uint16_t step = tags::step_of(phase_, segment);
  transport::Transfer& transfer = transfers_[segment % kWindow];
  transfer.state = transport::Transfer::State::idle;
  if (sends()) {
    const auto bytes = source(segment);
    context_->transport->send(peer_, tags::label_of(*context_, step, bytes.size()), bytes, transfer);
  } else {
    const auto bytes = target(segment);
    context_->transport->receive(peer_, tags::label_of(*context_, step, bytes.size()), bytes,
                                 transfer);
  }
}

void SegmentStream::add_pending(OpenTransfer& pending) const {
  if (done_ == opened_) return;
  (sends() ? pending.sending_to : pending.receiving_from).push_back(peer_);
}

void SegmentStream::abandon() {
  for (std::size_t segment = done_; segment < opened_; ++segment) {
    transport::Transfer& transfer = transfers_[segment % kWindow];
    if (transfer.state == transport::Transfer::State::active) {
      context_->transport->abandon(peer_, transfer);
    }
  }
}

}  // namespace unisono::move
