// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// allreduce, direct: member j owns slice j. Every member sends slice j to its owner; the owner
// reduces all contributions in member order and sends the result back to everyone.
// Steps: 2. Bytes sent per member: 2 (n-1)/n of the data. Wins with few members, and whenever one
// rounding or independence from fusion is wanted.
#include <deque>

#include "base/data/text.hpp"
#include "move/algorithms.hpp"
#include "move/message/owner_reduction.hpp"
#include "move/message/patterns.hpp"

namespace unisono::move {

namespace {

class DirectAllreduce final : public Machine {
 public:
  DirectAllreduce(MoveContext context, DType dtype, ReduceOp op, std::span<std::byte> data)
      : Machine("allreduce/direct", context),
        own_(context_, dtype, op, slice(dtype, data, context.me()),
             slice(dtype, data, context.me())) {
    // Starting with the next member spreads the first messages over all owners.
    for (int d = 1; d < context.n(); ++d) {
      const int member = patterns::wrap(context.me() + d, context.n());
      const auto theirs = slice(dtype, data, member);
      contributions_.emplace_back(context_, member, Phase::scatter).send_from(theirs);
      results_.emplace_back(context_, member, Phase::gather).receive_into(theirs);
      answers_.emplace_back(context_, member, Phase::gather)
          .send_from(slice(dtype, data, context.me()));
    }
  }

 private:
  std::span<std::byte> slice(DType dtype, std::span<std::byte> data, int member) const {
    const std::size_t width = size_of(dtype);
    const auto s = patterns::slice_of(data.size() / width, context_.n(), member);
    return data.subspan(s.begin * width, s.count() * width);
  }

  bool advance() override {
    bool done = true;
    for (std::size_t i = 0; i < contributions_.size(); ++i) {
      contributions_[i].advance(pass_);
      // The result lands where the contribution lies, so the contribution must have left first.
      results_[i].advance(contributions_[i].done(), pass_);
      done = done && contributions_[i].finished() && results_[i].finished();
    }
    own_.advance(pass_);
    for (auto& answer : answers_) {
      answer.advance(own_.done(), pass_);
      done = done && answer.finished();
    }
    return done && own_.finished();
  }

  void add_pending(OpenTransfer& pending) const override {
    own_.add_pending(pending);
    for (const auto* streams : {&contributions_, &results_, &answers_}) {
      for (const auto& stream : *streams) stream.add_pending(pending);
    }
  }
  std::string phase() const override { return own_.phase(); }

  OwnerReduction own_;
  std::deque<SegmentStream> contributions_, results_, answers_;
};

}  // namespace

std::unique_ptr<CollectiveMachine> make_allreduce_direct(MoveContext context, DType dtype,
                                                         ReduceOp op, std::span<std::byte> data) {
  return std::make_unique<DirectAllreduce>(context, dtype, op, data);
}

}  // namespace unisono::move
