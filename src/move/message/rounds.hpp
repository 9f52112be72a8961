// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What machines share that go from round to round, each with a member to send to and one to receive
// from: a round begins when the one before it is over. What comes may be reduced into the data.
// Thread: the one that drives the engine.
#pragma once

#include <deque>
#include <span>
#include <string>

#include "move/message/segment_stream.hpp"

namespace unisono::move {

class RoundsMachine : public Machine {
 protected:
  struct Round {
    Round(const MoveContext& context, int to, int from, Phase phase, unsigned number)
        : send(context, to, phase, number), receive(context, from, phase, number) {}
    SegmentStream send, receive;
    std::span<std::byte> into = {};         // reduced with what came; empty: nothing is reduced
    const std::byte* came = nullptr;
    bool came_first = false;                // as the left operand
    std::size_t reduced = 0;                // segments
  };

  RoundsMachine(std::string name, MoveContext context, DType dtype = DType::u8,
                ReduceOp op = ReduceOp::sum)
      : Machine(std::move(name), context), dtype_(dtype), op_(op) {}

  // A round that sends and receives what the caller tells its streams.
  Round& add_round(int to, int from, Phase phase, unsigned number = 0);
  Round& add_round(int member, Phase phase, unsigned number = 0) {
    return add_round(member, member, phase, number);
  }
  // What comes from the member, to `scratch`, is reduced into this part of the data.
  void reduce_into(Round& round, int member, std::span<std::byte> part, std::byte* scratch);

  const DType dtype_;
  const ReduceOp op_;

 private:
  bool advance() final;
  void reduce(Round& round, std::size_t limit);
  void add_pending(OpenTransfer& pending) const final;
  std::string phase() const final;

  std::deque<Round> rounds_;
  std::size_t current_ = 0;
};

}  // namespace unisono::move
