// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// allreduce, recursive doubling: in round r a member exchanges everything it has with the member
// whose virtual rank differs in bit r. Members beyond a power of two fold into a neighbour first
// and get the result at the end (patterns.hpp).
// Steps: log2 n, two more when n is not a power of two. Bytes sent per member: log2 n times the
// data. Wins when the data is so small that only latency counts.
// Each side reduces (lower block) op (upper block), so all members compute the same bits.
#include <memory>

#include "move/algorithms.hpp"
#include "move/message/patterns.hpp"
#include "move/message/rounds.hpp"

namespace unisono::move {

namespace {

class RecursiveDoubling final : public RoundsMachine {
 public:
  RecursiveDoubling(MoveContext context, DType dtype, ReduceOp op, std::span<std::byte> data)
      : RoundsMachine("allreduce/recursive_doubling", context, dtype, op) {
    const patterns::Doubling pattern{context.n(), context.me()};
    const int me = context.me();
    if (context.n() == 1) return;
    if (pattern.sits_out()) {
      add_round(me - 1, Phase::fold).send.send_from(data);
      add_round(me - 1, Phase::unfold).receive.receive_into(data);
      return;
    }
    other_.reset(new std::byte[data.size()]);
    if (pattern.folded()) reduce_into(add_round(me + 1, Phase::fold), me + 1, data, other_.get());
    for (int number = 0; number < pattern.rounds(); ++number) {
      const int partner = pattern.partner(number);
      Round& round = add_round(partner, Phase::round, static_cast<unsigned>(number) % 8);
      round.send.send_from(data);
      reduce_into(round, partner, data, other_.get());
    }
    if (pattern.folded()) add_round(me + 1, Phase::unfold).send.send_from(data);
  }

 private:
  std::unique_ptr<std::byte[]> other_;      // what came
};

}  // namespace

std::unique_ptr<CollectiveMachine> make_allreduce_recursive_doubling(MoveContext context,
                                                                     DType dtype, ReduceOp op,
                                                                     std::span<std::byte> data) {
  return std::make_unique<RecursiveDoubling>(context, dtype, op, data);
}

}  // namespace unisono::move
