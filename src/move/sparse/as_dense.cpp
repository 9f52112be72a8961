// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Sparse allreduces that become one of dense values, by whichever algorithm is right for those.
// "dense": every member fills up what it has not. Exact, and what everything else is compared with.
// "identical": the members first tell each other a hash of their indices, 16 bytes to each. Where
// all have the same, only the values travel: k of them, in a dense allreduce. Where they differ,
// the work's inner algorithm does it, a step later than without asking. Wins where supports are
// made alike, as by a mask that all members share.
#include <cstring>

#include "base/data/text.hpp"
#include "move/sparse/algorithms.hpp"
#include "move/sparse/split.hpp"

namespace unisono::move {

namespace {

class AsDense final : public HandingMachine {
 public:
  AsDense(MoveContext context, SparseWork work, stream::Stream& out)
      : HandingMachine("sparse_allreduce/dense", context, std::move(work), out) {}

 private:
  bool proceed() override {
    if (!rest_) {
      values_ = stream::Stream::copy_of(work_.mine);
      values_.densify(work_.op);
      rest_ = make_allreduce("auto", context_, values_.dtype(), work_.op.op, values_.values());
      pass_.moved = true;
    }
    if (!proceed_with_rest()) return false;
    finish_with(std::move(values_));
    return true;
  }

  stream::Stream values_;
};

class IdenticalSupports final : public HandingMachine {
 public:
  IdenticalSupports(MoveContext context, SparseWork work, stream::Stream& out)
      : HandingMachine("sparse_allreduce/identical", context, std::move(work), out),
        hashes_(context_, Phase::vote, 2 * sizeof(std::uint64_t)) {
    const std::uint64_t mine[2] = {stream::support_hash(work_.mine), work_.mine.nnz()};
    std::memcpy(hashes_.mine().data(), mine, sizeof mine);
  }

 private:
  bool proceed() override {
    if (!rest_) {
      if (!hashes_.advance(pass_)) return false;
      begin_rest();
      pass_.moved = true;
    }
    if (!proceed_with_rest()) return false;
    if (agreed_) finish_with(std::move(values_));
    return true;
  }

  void begin_rest() {
    agreed_ = work_.op.user == nullptr;
    for (int p = 0; p < context_.n(); ++p) {
      agreed_ = agreed_ && std::memcmp(hashes_.of(p).data(), hashes_.mine().data(), 16) == 0;
    }
    if (agreed_) {
      values_ = stream::Stream::copy_of(work_.mine);
      rest_ = make_allreduce("auto", context_, values_.dtype(), work_.op.op, values_.values());
    } else {
      const auto inner = work_.inner == "identical" ? "ssar_split_allgather" : work_.inner;
      rest_ = make_sparse_allreduce(inner, context_, work_, *out_);
    }
  }

  void add_pending(OpenTransfer& pending) const override { hashes_.add_pending(pending); }
  std::string phase() const override {
    return rest_ ? HandingMachine::phase() : std::string("the others' supports");
  }

  TellAll hashes_;
  bool agreed_ = false;
  stream::Stream values_;
};

}  // namespace

MadeMachine make_sparse_dense(MoveContext context, SparseWork work, stream::Stream& out) {
  // Only our own operators have dense allreduces.
  if (work.op.user != nullptr) {
    work.codec = nullptr;
    return make_dsar_split_allgather(context, std::move(work), out);
  }
  return std::make_unique<AsDense>(context, std::move(work), out);
}

MadeMachine make_identical_supports(MoveContext context, SparseWork work, stream::Stream& out) {
  return std::make_unique<IdenticalSupports>(context, std::move(work), out);
}

}  // namespace unisono::move
