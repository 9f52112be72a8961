// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// allreduce, recursive doubling: in round r a member exchanges everything it has with the member
// whose virtual rank differs in bit r.
// Steps: log2 n, two more when n is not a power of two. Bytes sent per member: log2 n times the
// data, twice that with 16-bit floats but for the first round. Wins when the data is so small that
// only latency counts.
#include <memory>

#include "move/algorithms.hpp"
#include "move/message/allreduce/doubling.hpp"

namespace unisono::move {

namespace {

class RecursiveDoubling final : public DoublingMachine {
 public:
  RecursiveDoubling(MoveContext context, const DoublingWork& work)
      : DoublingMachine("allreduce/recursive_doubling", context, work) {
    if (!takes_part()) return;
    for (int round = 0; round < pattern_.rounds(); ++round) {
      exchange(round, static_cast<unsigned>(round) % 8, {0, count_}, {0, count_});
    }
    unfold();
  }
};

}  // namespace

std::unique_ptr<CollectiveMachine> make_allreduce_recursive_doubling(MoveContext context,
                                                                     DType dtype, ReduceOp op,
                                                                     std::span<std::byte> data) {
  return std::make_unique<RecursiveDoubling>(context,
                                             DoublingWork{dtype, op, {data.data()}, data});
}

}  // namespace unisono::move
