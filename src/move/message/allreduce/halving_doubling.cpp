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
#include <array>
#include <deque>
#include <memory>
#include <utility>

#include "base/data/text.hpp"
#include "kernels/kernels.hpp"
#include "move/algorithms.hpp"
#include "move/message/patterns.hpp"
#include "move/message/segment_stream.hpp"

namespace unisono::move {

namespace {

class HalvingDoubling final : public Machine {
 public:
  HalvingDoubling(MoveContext context, DType dtype, ReduceOp op, std::span<std::byte> data)
      : Machine("allreduce/halving_doubling", context), dtype_(dtype), op_(op), data_(data) {
    const patterns::Doubling pattern{context.n(), context.me()};
    const int me = context.me();
    if (context.n() == 1) return;
    other_.reset(new std::byte[data.size()]);
    if (pattern.sits_out()) {
      add(me - 1, Phase::fold, 0).send.send_from(data_);
      add(me - 1, Phase::unfold, 0).receive.receive_into(data_);
      return;
    }
    if (pattern.folded()) absorb(add(me + 1, Phase::fold, 0), data_);
    halve_and_double(pattern);
    if (pattern.folded()) add(me + 1, Phase::unfold, 0).send.send_from(data_);
  }

 private:
  struct Round {
    Round(const MoveContext& context, int member, Phase phase, unsigned number)
        : partner(member), send(context, member, phase, number),
          receive(context, member, phase, number) {}
    int partner;
    SegmentStream send, receive;
    std::span<std::byte> reduced_into = {};  // empty: what comes replaces what is there
    std::size_t reduced = 0;                 // segments
  };

  Round& add(int member, Phase phase, unsigned number) {
    return rounds_.emplace_back(context_, member, phase, number);
  }
  // What comes is reduced into this part of the data.
  void absorb(Round& round, std::span<std::byte> part) {
    const auto from = static_cast<std::size_t>(part.data() - data_.data());
    round.receive.receive_into({other_.get() + from, part.size()});
    round.reduced_into = part;
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
      Round& exchange = add(pattern.partner(round), Phase::round, number_of(round, 0));
      exchange.send.send_from(halved.given);
      absorb(exchange, halved.kept);
      halves.push_back(halved);
      block = halved.kept;
    }
    for (int round = pattern.rounds() - 1; round >= 0; --round) {
      const Halved& halved = halves[static_cast<std::size_t>(round)];
      Round& exchange = add(pattern.partner(round), Phase::round, number_of(round, 1));
      exchange.send.send_from(halved.kept);
      exchange.receive.receive_into(halved.given);
    }
  }
  // The rounds of two halves share what a tag has room for; neighbouring rounds differ.
  static unsigned number_of(int round, unsigned half) {
    return half * 5 + static_cast<unsigned>(round) % 5;
  }

  bool advance() override {
    while (current_ < rounds_.size()) {
      Round& round = rounds_[current_];
      round.send.advance(pass_);
      round.receive.advance(pass_);
      if (pass_.failed) return false;
      if (!round.reduced_into.empty()) {
        while (round.reduced < round.receive.done()) reduce(round, round.reduced++);
      }
      if (!round.send.finished() || !round.receive.finished()) return false;
      ++current_;
      pass_.moved = true;
    }
    return true;
  }

  void reduce(const Round& round, std::size_t segment) {
    const std::size_t begin = segment * kSegmentBytes;
    const std::size_t length = std::min(kSegmentBytes, round.reduced_into.size() - begin);
    std::byte* mine = round.reduced_into.data() + begin;
    std::array<const void*, 2> operands{mine, other_.get() + (mine - data_.data())};
    if (round.partner < context_.me()) std::swap(operands[0], operands[1]);
    kernels::reduce_many(dtype_, op_, mine, operands, length / size_of(dtype_));
  }

  void add_pending(OpenTransfer& pending) const override {
    if (current_ == rounds_.size()) return;
    rounds_[current_].send.add_pending(pending);
    rounds_[current_].receive.add_pending(pending);
  }
  std::string phase() const override {
    return cat("round ", current_ + 1, " of ", rounds_.size());
  }

  const DType dtype_;
  const ReduceOp op_;
  const std::span<std::byte> data_;
  std::unique_ptr<std::byte[]> other_;      // what came, at the place of what it is reduced into
  std::deque<Round> rounds_;
  std::size_t current_ = 0;
};

}  // namespace

std::unique_ptr<CollectiveMachine> make_allreduce_halving_doubling(MoveContext context,
                                                                   DType dtype, ReduceOp op,
                                                                   std::span<std::byte> data) {
  return std::make_unique<HalvingDoubling>(context, dtype, op, data);
}

}  // namespace unisono::move
