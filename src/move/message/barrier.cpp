// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// barrier by dissemination: in round r a member tells the one 2^r to its right that everybody up to
// 2^r to its own left has arrived. After log2 n rounds, rounded up, that is everybody.
// Bytes: one per round, because a transport need not carry empty data.
#include <array>
#include <deque>

#include "base/data/text.hpp"
#include "move/collective.hpp"
#include "move/message/patterns.hpp"
#include "move/message/segment_stream.hpp"

namespace unisono::move {

namespace {

class DisseminationBarrier final : public Machine {
 public:
  explicit DisseminationBarrier(MoveContext context) : Machine("barrier/dissemination", context) {
    unsigned number = 0;
    for (int distance = 1; distance < context.n(); distance *= 2) {
      Round& round = rounds_.emplace_back(context_, distance, number++ % 8);
      round.send.send_from(token_out_);
      round.receive.receive_into(round.token_in);
    }
  }

 private:
  struct Round {
    Round(const MoveContext& context, int distance, unsigned number)
        : send(context, patterns::wrap(context.me() + distance, context.n()), Phase::round, number),
          receive(context, patterns::wrap(context.me() - distance, context.n()), Phase::round,
                  number) {}
    SegmentStream send, receive;
    std::array<std::byte, 1> token_in{};
  };

  bool advance() override {
    while (current_ < rounds_.size()) {
      Round& round = rounds_[current_];
      round.send.advance(pass_);
      round.receive.advance(pass_);
      if (pass_.failed || !round.send.finished() || !round.receive.finished()) return false;
      ++current_;
      pass_.moved = true;
    }
    return true;
  }
  void add_pending(OpenTransfer& pending) const override {
    if (current_ == rounds_.size()) return;
    rounds_[current_].send.add_pending(pending);
    rounds_[current_].receive.add_pending(pending);
  }
  std::string phase() const override {
    return cat("round ", current_ + 1, " of ", rounds_.size());
  }

  std::array<std::byte, 1> token_out_{std::byte{1}};
  std::deque<Round> rounds_;
  std::size_t current_ = 0;
};

}  // namespace

std::unique_ptr<CollectiveMachine> make_barrier(MoveContext context) {
  return std::make_unique<DisseminationBarrier>(context);
}

}  // namespace unisono::move
