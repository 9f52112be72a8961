// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What allreduces share that reduce with a partner in every round: members beyond a power of two
// fold into a neighbour first and get the result at the end (patterns.hpp), and what is held is the
// input until the first reduction, partials until the last, and then the result.
// Each side reduces (lower block) op (upper block), so all members compute the same bits.
// Thread: the one that drives the engine.
#pragma once

#include <memory>

#include "move/message/patterns.hpp"
#include "move/message/rounds.hpp"

namespace unisono::move {

struct DoublingWork {
  DType dtype = DType::f32;
  ReduceOp op = ReduceOp::sum;
  kernels::Operand in;                      // at out, or float32 partials elsewhere
  std::span<std::byte> out;
};

class DoublingMachine : public RoundsMachine {
 protected:
  DoublingMachine(std::string name, MoveContext context, const DoublingWork& work)
      : RoundsMachine(std::move(name), context, work.dtype, work.op),
        pattern_{context.n(), context.me()},
        count_(work.out.size() / size_of(work.dtype)),
        out_(work.out.data()),
        input_partials_(work.in.partial),
        held_(work.in) {
    const int me = context.me();
    if (context.n() == 1) return;
    if (pattern_.sits_out()) {
      send(add_round(me - 1, Phase::fold), held_, count_);
      receive(add_round(me - 1, Phase::unfold), out_, false, count_);
      return;
    }
    other_.reset(new std::byte[count_ * width(partials_)]);
    if (partials_) work_.reset(new std::byte[count_ * sizeof(float)]);
    if (pattern_.folded()) {
      reduce_with(add_round(me + 1, Phase::fold), me + 1, input_partials_, {0, count_}, false);
    }
  }

  bool takes_part() const { return context_.n() > 1 && !pattern_.sits_out(); }

  // In this round: gives some of the elements that are held away, reduces others with what comes.
  void exchange(int round, unsigned number, patterns::Slice given, patterns::Slice kept) {
    const int partner = pattern_.partner(round);
    Round& both = add_round(partner, Phase::round, number);
    send(both, behind(held_, given.begin), given.count());
    // What the partner holds has been reduced before, unless this is its first round.
    const bool reduced = round > 0 || patterns::Doubling{context_.n(), partner}.folded();
    reduce_with(both, partner, input_partials_ || (partials_ && reduced), kept,
                round + 1 == pattern_.rounds());
  }

  void unfold() {
    const int next = context_.me() + 1;
    if (pattern_.folded()) send(add_round(next, Phase::unfold), {out_}, count_);
  }

  const patterns::Doubling pattern_;
  const std::size_t count_;                 // elements
  std::byte* const out_;

 private:
  void reduce_with(Round& round, int member, bool came_partials, patterns::Slice slice, bool last) {
    const bool partials = partials_ && !last;
    std::byte* into = partials ? work_.get() : out_;
    receive_and_reduce(round, member,
                       {.mine = behind(held_, slice.begin),
                        .came = other_.get() + slice.begin * width(partials_),
                        .came_partials = came_partials,
                        .into = into + slice.begin * width(partials),
                        .into_partials = partials,
                        .count = slice.count()});
    held_ = {into, partials};
  }

  const bool input_partials_;
  kernels::Operand held_;                   // when the rounds that have been added are over
  std::unique_ptr<std::byte[]> other_;      // what came, at the place of what it is reduced with
  std::unique_ptr<std::byte[]> work_;       // partials
};

}  // namespace unisono::move
