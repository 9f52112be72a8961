// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What machines share that go from round to round, each with a member to send to and one to receive
// from: a round begins when the one before it is over. What comes may be reduced with what is here.
// Sums of 16- and 8-bit floats are float32 partials until the last reduction rounds them; what no
// member has reduced yet travels as it is.
// Thread: the one that drives the engine.
#pragma once

#include <deque>
#include <span>
#include <string>

#include "kernels/kernels.hpp"
#include "move/message/segment_stream.hpp"

namespace unisono::move {

class RoundsMachine : public Machine {
 protected:
  // What comes is reduced with what is there, segment by segment.
  struct Reduction {
    kernels::Operand mine;
    std::byte* came = nullptr;
    bool came_partials = false;
    std::byte* into = nullptr;              // may be the place of mine where both are alike
    bool into_partials = false;
    std::size_t count = 0;                  // elements
  };
  struct Round {
    Round(const MoveContext& context, int to, int from, Phase phase, unsigned number)
        : send(context, to, phase, number), receive(context, from, phase, number) {}
    SegmentStream send, receive;
    Reduction reduction;                    // of no elements: nothing is reduced
    bool came_first = false;                // as the left operand
    std::size_t reduced = 0;                // segments
  };

  RoundsMachine(std::string name, MoveContext context, DType dtype = DType::u8,
                ReduceOp op = ReduceOp::sum)
      : Machine(std::move(name), context), dtype_(dtype), op_(op),
        partials_(kernels::wants_partials(dtype, op)) {}

  // A round that sends and receives what the caller tells its streams.
  Round& add_round(int to, int from, Phase phase, unsigned number = 0);
  Round& add_round(int member, Phase phase, unsigned number = 0) {
    return add_round(member, member, phase, number);
  }
  // Elements of a contribution or of partials; both ends of a stream cut them alike.
  void send(Round& round, kernels::Operand from, std::size_t count);
  void receive(Round& round, std::byte* to, bool partials, std::size_t count);
  // Once, when the last round is over.
  virtual void finish() {}
  void receive_and_reduce(Round& round, int member, const Reduction& reduction);
  std::size_t width(bool partials) const { return partials ? sizeof(float) : size_of(dtype_); }
  // The element so far behind another.
  kernels::Operand behind(kernels::Operand start, std::size_t elements) const {
    return {static_cast<const std::byte*>(start.at) + elements * width(start.partial),
            start.partial};
  }

  const DType dtype_;
  const ReduceOp op_;
  const bool partials_;                     // what has been reduced on the way is float32

 private:
  std::size_t segment_elements() const { return kSegmentBytes / width(partials_); }
  bool advance() final;
  void reduce(Round& round, std::size_t limit);
  void add_pending(OpenTransfer& pending) const final;
  std::string phase() const final;

  std::deque<Round> rounds_;
  std::size_t current_ = 0;
};

}  // namespace unisono::move
