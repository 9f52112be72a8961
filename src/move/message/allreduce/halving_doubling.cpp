// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// allreduce, recursive halving and doubling: in every round two members halve the block they both
// hold, each sends the half it gives away and reduces the half it keeps. When every member is left
// with one block, the rounds run backwards and the blocks are put together again.
// Steps: 2 log2 n, two more when n is not a power of two. Bytes sent per member: 2 (n-1)/n of the
// data, and the whole data twice where members fold. Wins with many members and data of middle
// size, where a ring has too many steps.
// 16- and 8-bit floats: the first halving, which moves the most, sends inputs as they are, later
// ones float32 partials: up to 2.5 times the data in all with 16 bits, 3.5 with 8. That pays where
// direct, which sends less and rounds once as well, has too many messages: beyond 8 members.
// The first round is with the nearest member.
#include <memory>
#include <utility>
#include <vector>

#include "move/algorithms.hpp"
#include "move/message/allreduce/doubling.hpp"

namespace unisono::move {

namespace {

class HalvingDoubling final : public DoublingMachine {
 public:
  HalvingDoubling(MoveContext context, const DoublingWork& work)
      : DoublingMachine("allreduce/halving_doubling", context, work) {
    if (!takes_part()) return;
    struct Halved {
      patterns::Slice kept, given;
    };
    std::vector<Halved> halves;
    patterns::Slice block{0, count_};
    for (int round = 0; round < pattern_.rounds(); ++round) {
      const std::size_t middle = block.begin + block.count() / 2;
      Halved halved{{block.begin, middle}, {middle, block.end}};
      if ((pattern_.virtual_rank() >> round & 1) != 0) std::swap(halved.kept, halved.given);
      exchange(round, number_of(round, 0), halved.given, halved.kept);
      halves.push_back(halved);
      block = halved.kept;
    }
    for (int round = pattern_.rounds() - 1; round >= 0; --round) {
      const Halved& halved = halves[static_cast<std::size_t>(round)];
      Round& both = add_round(pattern_.partner(round), Phase::round, number_of(round, 1));
      send(both, behind({out_}, halved.kept.begin), halved.kept.count());
      receive(both, out_ + halved.given.begin * size_of(dtype_), false, halved.given.count());
    }
    unfold();
  }

 private:
  // The rounds of two halves share what a tag has room for; neighbouring rounds differ.
  static unsigned number_of(int round, unsigned half) {
    return half * 5 + static_cast<unsigned>(round) % 5;
  }
};

}  // namespace

std::unique_ptr<CollectiveMachine> make_allreduce_halving_doubling(MoveContext context,
                                                                   DType dtype, ReduceOp op,
                                                                   std::span<std::byte> data) {
  return std::make_unique<HalvingDoubling>(context, DoublingWork{dtype, op, {data.data()}, data});
}

std::unique_ptr<CollectiveMachine> make_halving_of_partials(MoveContext context, DType dtype,
                                                            ReduceOp op,
                                                            std::span<const std::byte> partials,
                                                            std::span<std::byte> out) {
  return std::make_unique<HalvingDoubling>(context,
                                           DoublingWork{dtype, op, {partials.data(), true}, out});
}

}  // namespace unisono::move
