// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// barrier by dissemination: in round r a member tells the one 2^r to its right that everybody up to
// 2^r to its own left has arrived. After log2 n rounds, rounded up, that is everybody.
// Bytes: one per round, because a transport need not carry empty data.
#include <array>

#include "move/collective.hpp"
#include "move/message/patterns.hpp"
#include "move/message/rounds.hpp"

namespace unisono::move {

namespace {

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

}  // namespace

std::unique_ptr<CollectiveMachine> make_barrier(MoveContext context) {
  return std::make_unique<DisseminationBarrier>(context);
}

}  // namespace unisono::move
