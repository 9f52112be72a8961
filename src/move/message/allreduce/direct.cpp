// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// allreduce, direct: member j owns slice j. Every member sends slice j to its owner; the owner
// reduces all contributions in member order and sends the result to everyone. Contributions leave
// from where the tensors are, and results arrive there.
// Steps: 2. Bytes sent per member: 2 (n-1)/n of the data. Wins with few members, and whenever one
// rounding or independence from fusion is wanted.
//
// In a planned bucket every member first tells every other its vote. Contributions are on their way
// meanwhile, but nothing is written until all votes are known, and nothing at all if one is abort:
// then the contributions are received and dropped.
#include <algorithm>
#include <deque>

#include "base/check.hpp"
#include "base/data/text.hpp"
#include "move/algorithms.hpp"
#include "move/message/owner_reduction.hpp"
#include "move/message/patterns.hpp"

namespace unisono::move {

namespace {

// The votes of all members, exchanged as one byte each.
class Ballot {
 public:
  Ballot(const MoveContext& context, std::optional<PlanVote> mine) {
    if (!mine) return;
    votes_.resize(static_cast<std::size_t>(context.n()), std::byte{0});
    const auto me = static_cast<std::size_t>(context.me());
    votes_[me] = static_cast<std::byte>(*mine);
    for (std::size_t i = 0; i < votes_.size(); ++i) {
      if (i == me) continue;
      streams_.emplace_back(context, static_cast<int>(i), Phase::vote)
          .send_from(std::span(votes_).subspan(me, 1));
      streams_.emplace_back(context, static_cast<int>(i), Phase::vote)
          .receive_into(std::span(votes_).subspan(i, 1));
    }
  }

  void advance(Pass& pass) {
    for (auto& stream : streams_) stream.advance(pass);
  }
  bool finished() const {
    return std::all_of(streams_.begin(), streams_.end(),
                       [](const SegmentStream& stream) { return stream.finished(); });
  }
  // Once finished: the strongest vote. A byte that is no vote is as good as abort.
  PlanVote strongest() const {
    std::byte most{static_cast<std::uint8_t>(PlanVote::run)};
    for (const std::byte vote : votes_) most = std::max(most, vote);
    return std::min(static_cast<PlanVote>(most), PlanVote::abort);
  }
  void add_pending(OpenTransfer& pending) const {
    for (const auto& stream : streams_) stream.add_pending(pending);
  }
  void abandon() {
    for (auto& stream : streams_) stream.abandon();
  }

 private:
  std::vector<std::byte> votes_;            // by member; empty when nobody votes
  std::deque<SegmentStream> streams_;
};

class DirectAllreduce final : public Machine {
 public:
  DirectAllreduce(MoveContext context, DirectWork work)
      : Machine("allreduce/direct", context),
        cut_(cut_regions(work.regions, work.partials ? sizeof(float) : size_of(work.dtype),
                         context.n(), context.transport->stripes())),
        ballot_(context_, work.vote),
        own_(context_, work.dtype, work.op, cut_.of(context.me()), work.scratch, 2 * work.turn) {
    UNISONO_CHECK(work.turn < kDirectTurns);
    const unsigned round = 2 * work.turn;   // two phases each
    // Starting with the next member spreads the first messages over all owners.
    for (int d = 1; d < context.n(); ++d) {
      const int member = patterns::wrap(context.me() + d, context.n());
      contributions_.emplace_back(context_, member, Phase::scatter, round)
          .send_inputs(cut_.of(member));
      results_.emplace_back(context_, member, Phase::gather, round)
          .receive_outputs(cut_.of(member));
      answers_.emplace_back(context_, member, Phase::gather, round)
          .send_outputs(cut_.of(context.me()));
    }
  }

  PlanVote vote() const override { return ballot_.strongest(); }

  void abandon() override {
    ballot_.abandon();
    own_.abandon();
    for (auto* streams : {&contributions_, &results_, &answers_}) {
      for (auto& stream : *streams) stream.abandon();
    }
  }

 private:
  bool advance() override {
    ballot_.advance(pass_);
    const bool decided = ballot_.finished();
    const bool aborted = decided && ballot_.strongest() == PlanVote::abort;
    bool done = decided;
    for (auto& contribution : contributions_) {
      contribution.advance(pass_);
      done = done && contribution.finished();
    }
    using Do = OwnerReduction::Do;
    own_.advance(pass_, !decided ? Do::wait : aborted ? Do::drop : Do::reduce);
    done = done && own_.finished();
    if (!decided || aborted) return done;
    for (std::size_t i = 0; i < results_.size(); ++i) {
      // In place the result lands where the contribution lies, which must have left first.
      results_[i].advance(contributions_[i].done(), pass_);
      done = done && results_[i].finished();
    }
    for (auto& answer : answers_) {
      answer.advance(own_.done(), pass_);
      done = done && answer.finished();
    }
    return done;
  }

  void add_pending(OpenTransfer& pending) const override {
    ballot_.add_pending(pending);
    own_.add_pending(pending);
    for (const auto* streams : {&contributions_, &results_, &answers_}) {
      for (const auto& stream : *streams) stream.add_pending(pending);
    }
  }
  std::string phase() const override {
    return ballot_.finished() ? own_.phase() : std::string("the members' votes");
  }

  const Cut cut_;
  Ballot ballot_;
  OwnerReduction own_;
  std::deque<SegmentStream> contributions_, results_, answers_;
};

}  // namespace

std::unique_ptr<CollectiveMachine> make_allreduce_from_regions(MoveContext context,
                                                               DirectWork work) {
  return std::make_unique<DirectAllreduce>(context, std::move(work));
}

std::unique_ptr<CollectiveMachine> make_allreduce_direct(MoveContext context, DType dtype,
                                                         ReduceOp op, std::span<std::byte> data) {
  return std::make_unique<DirectAllreduce>(
      context, DirectWork{.dtype = dtype, .op = op, .regions = {{.in = data, .out = data}}});
}

std::size_t direct_scratch_bytes(int members) {
  return OwnerReduction::scratch_bytes_max(members);
}

}  // namespace unisono::move
