// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "move/message/owner_reduction.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/data/text.hpp"

namespace unisono::move {

OwnerReduction::OwnerReduction(const MoveContext& context, DType dtype, ReduceOp op,
                               std::span<const Segment> segments, std::span<std::byte> scratch,
                               unsigned round)
    : context_(&context),
      dtype_(dtype),
      op_(op),
      segments_(segments),
      scratch_(scratch.data()),
      inputs_(static_cast<std::size_t>(context.n())) {
  if (segments_.empty()) return;
  slots_ = std::min(segments_.size(), kWindow);
  for (const Segment& segment : segments_) slot_bytes_ = std::max(slot_bytes_, segment.in.size());
  const std::size_t needed = slots_ * slot_bytes_ * static_cast<std::size_t>(context.n() - 1);
  if (scratch.empty()) {
    own_scratch_.reset(new std::byte[needed]);
    scratch_ = own_scratch_.get();
  } else {
    UNISONO_CHECK(scratch.size() >= needed);
  }
  for (int member = 0; member < context.n(); ++member) {
    if (member == context.me()) continue;
    std::byte* slots = scratch_ + contributions_.size() * slots_ * slot_bytes_;
    contributions_.emplace_back(context, member, Phase::scatter, round)
        .receive_through(slots, slot_bytes_, segments_);
  }
}

void OwnerReduction::advance(Pass& pass, Do what, std::size_t limit) {
  for (auto& contribution : contributions_) contribution.advance(done_ + kWindow, pass);
  if (what == Do::wait) return;
  while (!pass.failed && done_ < std::min(limit, segments_.size()) && arrived(done_)) {
    if (what == Do::reduce) reduce(done_);
    ++done_;
    pass.moved = true;
  }
}

bool OwnerReduction::arrived(std::size_t segment) const {
  return std::all_of(contributions_.begin(), contributions_.end(),
                     [&](const SegmentStream& stream) { return stream.done() > segment; });
}

void OwnerReduction::reduce(std::size_t index) {
  const Segment& segment = segments_[index];
  const std::byte* slot = scratch_ + (index % kWindow) * slot_bytes_;
  const bool partials = segment.in.size() != segment.out.size();
  for (int member = 0; member < context_->n(); ++member) {
    kernels::Operand& input = inputs_[static_cast<std::size_t>(member)];
    if (member == context_->me()) {
      input = {segment.in.data(), partials};
    } else {
      input = {slot, partials};
      slot += slots_ * slot_bytes_;
    }
  }
  const std::size_t count = segment.out.size() / size_of(dtype_);
  kernels::reduce_partials(dtype_, op_, segment.out.data(), false, inputs_, count);
  if (segment.divisor != 1 || segment.postscale != 1.0) {
    kernels::finish(dtype_, segment.divisor, segment.postscale, segment.out.data(),
                    segment.out.data(), count);
  }
}

void OwnerReduction::add_pending(OpenTransfer& pending) const {
  for (const auto& contribution : contributions_) contribution.add_pending(pending);
}

std::string OwnerReduction::phase() const {
  return cat(done_, " of ", segments_.size(), " segments of the own slice reduced");
}

void OwnerReduction::abandon() {
  for (auto& contribution : contributions_) contribution.abandon();
}

}  // namespace unisono::move
