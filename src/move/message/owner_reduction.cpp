// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "move/message/owner_reduction.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/data/text.hpp"
#include "kernels/kernels.hpp"
#include "move/message/patterns.hpp"

namespace unisono::move {

OwnerReduction::OwnerReduction(const MoveContext& context, DType dtype, ReduceOp op,
                               std::span<const std::byte> mine, std::span<std::byte> out)
    : context_(&context),
      dtype_(dtype),
      op_(op),
      mine_(mine),
      out_(out),
      segments_(patterns::segments_in(mine.size(), kSegmentBytes)),
      slots_bytes_(std::min(mine.size(), kWindow * kSegmentBytes)),
      scratch_(slots_bytes_ * static_cast<std::size_t>(context.n() - 1)),
      inputs_(static_cast<std::size_t>(context.n())) {
  UNISONO_CHECK(mine.size() == out.size() && mine.size() % size_of(dtype) == 0);
  for (int member = 0; member < context.n(); ++member) {
    if (member == context.me()) continue;
    std::byte* slots = scratch_.data() + contributions_.size() * slots_bytes_;
    contributions_.emplace_back(context, member, Phase::scatter)
        .receive_through(slots, mine.size());
  }
}

void OwnerReduction::advance(Pass& pass) {
  for (auto& contribution : contributions_) contribution.advance(done_ + kWindow, pass);
  while (!pass.failed && done_ < segments_ && arrived(done_)) {
    reduce(done_++);
    pass.moved = true;
  }
}

bool OwnerReduction::arrived(std::size_t segment) const {
  return std::all_of(contributions_.begin(), contributions_.end(),
                     [&](const SegmentStream& stream) { return stream.done() > segment; });
}

void OwnerReduction::reduce(std::size_t segment) {
  const std::size_t begin = segment * kSegmentBytes;
  const std::size_t length = std::min(kSegmentBytes, mine_.size() - begin);
  const std::byte* slot = scratch_.data() + (segment % kWindow) * kSegmentBytes;
  for (int member = 0; member < context_->n(); ++member) {
    const void*& input = inputs_[static_cast<std::size_t>(member)];
    if (member == context_->me()) {
      input = mine_.data() + begin;
    } else {
      input = slot;
      slot += slots_bytes_;
    }
  }
  kernels::reduce_many(dtype_, op_, out_.data() + begin, inputs_, length / size_of(dtype_));
}

void OwnerReduction::add_pending(OpenTransfer& pending) const {
  for (const auto& contribution : contributions_) contribution.add_pending(pending);
}

std::string OwnerReduction::phase() const {
  return cat(done_, " of ", segments_, " segments of the own part reduced");
}

}  // namespace unisono::move
