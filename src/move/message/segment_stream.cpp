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
  source_ = bytes.data();
  total_ = bytes.size();
  segment_bytes_ = segment_bytes != 0 ? segment_bytes : std::max<std::size_t>(total_, 1);
  segments_ = patterns::segments_in(total_, segment_bytes_);
}

void SegmentStream::receive_into(std::span<std::byte> bytes, std::size_t segment_bytes) {
  target_ = bytes.data();
  total_ = bytes.size();
  segment_bytes_ = segment_bytes != 0 ? segment_bytes : std::max<std::size_t>(total_, 1);
  segments_ = patterns::segments_in(total_, segment_bytes_);
}

void SegmentStream::receive_through(std::byte* slots, std::size_t total_bytes) {
  target_ = slots;
  total_ = total_bytes;
  slots_ = kWindow;
  segments_ = patterns::segments_in(total_, segment_bytes_);
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

void SegmentStream::open(std::size_t segment) {
  const std::size_t begin = segment * segment_bytes_;
  const std::size_t length = std::min(segment_bytes_, total_ - begin);
  const transport::Label label{
      tags::pack(context_->set, context_->bucket, tags::step_of(phase_, segment)),
      context_->identity};
  transport::Transfer& transfer = transfers_[segment % kWindow];
  transfer.state = transport::Transfer::State::idle;
  if (source_ != nullptr) {
    context_->transport->send(peer_, label, {source_ + begin, length}, transfer);
  } else {
    const std::size_t at = slots_ != 0 ? (segment % slots_) * segment_bytes_ : begin;
    context_->transport->receive(peer_, label, {target_ + at, length}, transfer);
  }
}

void SegmentStream::add_pending(OpenTransfer& pending) const {
  if (done_ == opened_) return;
  (source_ != nullptr ? pending.sending_to : pending.receiving_from).push_back(peer_);
}

}  // namespace unisono::move
