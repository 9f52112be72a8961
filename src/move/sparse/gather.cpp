// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// sparse allgather: everybody sends its whole stream to everybody, and each member adds all of them
// up in member order.
// Steps: 1. Bytes sent per member: n-1 times its stream. Wins where members have few indices in
// common, as updates of disjoint coordinates: then no algorithm sends less, and none has fewer
// steps. What two members both have is combined, or refused where the caller says that they must
// not.
#include "base/data/text.hpp"
#include "move/sparse/algorithms.hpp"
#include "move/sparse/split.hpp"

namespace unisono::move {

namespace {

class SparseGather final : public SparseMachine {
 public:
  SparseGather(MoveContext context, SparseWork work, stream::Stream& out)
      : SparseMachine("sparse_allgather", context, std::move(work), out) {}

 private:
  bool proceed() override {
    if (!gather_) {
      gather_.emplace(context_, work_, packed(work_.mine, 0));
      pass_.moved = true;
    }
    if (!gather_->advance(pass_, trouble_)) return false;
    std::uint64_t total = 0;
    for (int p = 0; p < context_.n(); ++p) total += gather_->view(p).nnz();
    SegmentSum sum(work_.op, {work_.dtype, length(), work_.dense_multiplier, total});
    for (int p = 0; p < context_.n(); ++p) add(sum, gather_->view(p));
    if (work_.refuse_overlap && sum.overlapped()) {
      trouble_ = Status(Code::invalid_argument,
                        "two ranks brought the same index to a sparse allgather of disjoint "
                        "streams: give every rank indices of its own, or let them be combined");
      return false;
    }
    if (work_.overlapped != nullptr) *work_.overlapped = sum.overlapped();
    finish_with(sum.take(work_.dtype));
    return true;
  }

  // Where overlap is refused a dense stream has only the elements that are not neutral.
  void add(SegmentSum& sum, const stream::View& view) const {
    const bool asks = work_.refuse_overlap || work_.overlapped != nullptr;
    if (!asks || !view.dense) return sum.add(view);
    stream::Stream few = stream::Stream::copy_of(view);
    few.sparsify(work_.op);
    sum.add(few.view());
  }

  void add_pending(OpenTransfer& pending) const override {
    if (gather_) gather_->add_pending(pending);
  }
  std::string phase() const override { return "everybody's stream"; }

  std::optional<PacketGather> gather_;
};

}  // namespace

MadeMachine make_gather_and_sum(MoveContext context, SparseWork work, stream::Stream& out) {
  return std::make_unique<SparseGather>(context, std::move(work), out);
}

}  // namespace unisono::move
