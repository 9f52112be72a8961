// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// allreduce, recursive halving and doubling: in every round two members halve the block they both
// hold, each sends the half it gives away and reduces the half it keeps. When every member is left
// with one block, the rounds run backwards and the blocks are put together again. Members beyond a
// power of two fold into a neighbour first and get the result at the end (patterns.hpp).
// Steps: 2 log2 n, two more when n is not a power of two. Bytes sent per member: 2 (n-1)/n of the
// data, and the whole data twice where members fold. Wins with many members and data of middle size,
// where a ring has too many steps.
// The first round, which moves the most, is with the nearest member. Each side reduces (lower) op
// (upper), so every block has the same bits wherever it is.
#include <memory>
#include <utility>
#include <vector>

#include "move/algorithms.hpp"
#include "move/message/patterns.hpp"
#include "move/message/rounds.hpp"

namespace unisono::move {

namespace {

class HalvingDoubling final : public RoundsMachine {
 public:
  HalvingDoubling(MoveContext context, DType dtype, ReduceOp op, std::span<std::byte> data)
      : RoundsMachine("allreduce/halving_doubling", context, dtype, op), data_(data) {
    const patterns::Doubling pattern{context.n(), context.me()};
    const int me = context.me();
    if (context.n() == 1) return;
    if (pattern.sits_out()) {
      add_round(me - 1, Phase::fold).send.send_from(data_);
      add_round(me - 1, Phase::unfold).receive.receive_into(data_);
      return;
    }
    other_.reset(new std::byte[data.size()]);
    if (pattern.folded()) {
      reduce_into(add_round(me + 1, Phase::fold), me + 1, data_, other_.get());
    }
    halve_and_double(pattern);
    if (pattern.folded()) add_round(me + 1, Phase::unfold).send.send_from(data_);
  }

 private:
  std::byte* place_of(std::span<std::byte> part) const {
    return other_.get() + (part.data() - data_.data());
  }

  void halve_and_double(const patterns::Doubling& pattern) {
    struct Halved {
      std::span<std::byte> kept, given;
    };
    std::vector<Halved> halves;
    std::span<std::byte> block = data_;
    for (int round = 0; round < pattern.rounds(); ++round) {
      const std::size_t width = size_of(dtype_);
      const std::size_t middle = block.size() / width / 2 * width;
      Halved halved{block.first(middle), block.subspan(middle)};
      if ((pattern.virtual_rank() >> round & 1) != 0) std::swap(halved.kept, halved.given);
      const int partner = pattern.partner(round);
      Round& exchange = add_round(partner, Phase::round, number_of(round, 0));
      exchange.send.send_from(halved.given);
      reduce_into(exchange, partner, halved.kept, place_of(halved.kept));
      halves.push_back(halved);
      block = halved.kept;
    }
    for (int round = pattern.rounds() - 1; round >= 0; --round) {
      const Halved& halved = halves[static_cast<std::size_t>(round)];
      Round& exchange = add_round(pattern.partner(round), Phase::round, number_of(round, 1));
      exchange.send.send_from(halved.kept);
      exchange.receive.receive_into(halved.given);
    }
  }
  // The rounds of two halves share what a tag has room for; neighbouring rounds differ.
  static unsigned number_of(int round, unsigned half) {
    return half * 5 + static_cast<unsigned>(round) % 5;
  }

  const std::span<std::byte> data_;
  std::unique_ptr<std::byte[]> other_;      // what came, at the place of what it is reduced into
};

}  // namespace

std::unique_ptr<CollectiveMachine> make_allreduce_halving_doubling(MoveContext context,
                                                                   DType dtype, ReduceOp op,
                                                                   std::span<std::byte> data) {
  return std::make_unique<HalvingDoubling>(context, dtype, op, data);
}

}  // namespace unisono::move
