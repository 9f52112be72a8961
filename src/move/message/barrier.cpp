// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// barrier, of two kinds, by the number of members.
// Dissemination: in round r a member tells the one 2^r to its right that everybody up to 2^r to its
// own left has arrived. After log2 n rounds, rounded up, that is everybody. One byte per round.
// Tree, of many members: those below say that they have arrived, then those above say that all have.
// Twice log16 n steps, one byte to and from each member of the tree that a member is adjacent to. In
// a job of many ranks these are connected from the start (transport/mesh/overlay.hpp), where
// dissemination would connect every rank with twice log2 n others.
// A byte, because a transport need not carry empty data.
#include <algorithm>
#include <array>
#include <deque>
#include <span>
#include <string>

#include "move/collective.hpp"
#include "move/message/patterns.hpp"
#include "move/message/rounds.hpp"

namespace unisono::move {

namespace {

constexpr int kDisseminationMax = 32;

class DisseminationBarrier final : public RoundsMachine {
 public:
  explicit DisseminationBarrier(MoveContext context)
      : RoundsMachine("barrier/dissemination", context) {
    unsigned number = 0;
    for (int distance = 1; distance < context.n(); distance *= 2) {
      Round& round = add_round(patterns::wrap(context.me() + distance, context.n()),
                               patterns::wrap(context.me() - distance, context.n()), Phase::round,
                               number++ % 8);
      round.send.send_from(token_out_);
      round.receive.receive_into(token_in_);
    }
  }

 private:
  std::array<std::byte, 1> token_out_{std::byte{1}}, token_in_{};
};

class TreeBarrier final : public Machine {
 public:
  explicit TreeBarrier(MoveContext context) : Machine("barrier/tree", context) {
    const int first = context.me() * kChildren + 1;
    for (int child = first; child < std::min(first + kChildren, context.n()); ++child) {
      receive(steps_[arrived_below], child, Phase::gather);
      send(steps_[tell_below], child, Phase::scatter);
    }
    if (context.me() > 0) {
      const int parent = (context.me() - 1) / kChildren;
      send(steps_[tell_above], parent, Phase::gather);
      receive(steps_[arrived_above], parent, Phase::scatter);
    }
  }

 private:
  static constexpr int kChildren = 16;      // as in the tree of control messages, unless told otherwise
  enum When { arrived_below, tell_above, arrived_above, tell_below, over };

  void send(std::deque<SegmentStream>& step, int member, Phase phase) {
    step.emplace_back(context_, member, phase).send_from(token_out_);
  }
  void receive(std::deque<SegmentStream>& step, int member, Phase phase) {
    step.emplace_back(context_, member, phase).receive_into(std::span(tokens_in_).subspan(received_++, 1));
  }

  bool advance() override {
    for (; now_ != over; now_ = static_cast<When>(now_ + 1), pass_.moved = true) {
      bool finished = true;
      for (SegmentStream& stream : steps_[now_]) {
        stream.advance(pass_);
        finished &= stream.finished();
      }
      if (pass_.failed || !finished) return false;
    }
    return true;
  }
  void add_pending(OpenTransfer& pending) const override {
    if (now_ == over) return;
    for (const SegmentStream& stream : steps_[now_]) stream.add_pending(pending);
  }
  std::string phase() const override {
    constexpr std::array kWords{"waiting for the members below", "telling the member above",
                                "waiting for the member above", "telling the members below", "over"};
    return kWords[now_];
  }

  std::array<std::byte, 1> token_out_{std::byte{1}};
  std::array<std::byte, kChildren + 1> tokens_in_{};
  std::size_t received_ = 0;
  std::array<std::deque<SegmentStream>, over> steps_;
  When now_ = arrived_below;
};

}  // namespace

std::unique_ptr<CollectiveMachine> make_barrier(MoveContext context) {
  if (context.n() > kDisseminationMax) return std::make_unique<TreeBarrier>(context);
  return std::make_unique<DisseminationBarrier>(context);
}

}  // namespace unisono::move
