// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// allreduce, recursive doubling: in round r a member exchanges everything it has with the member
// whose virtual rank differs in bit r. Members beyond a power of two fold into a neighbour first
// and get the result at the end (patterns.hpp).
// Steps: log2 n, two more when n is not a power of two. Bytes sent per member: log2 n times the
// data. Wins when the data is so small that only latency counts.
// Each side reduces (lower block) op (upper block), so all members compute the same bits.
#include <array>
#include <deque>
#include <vector>

#include "base/data/text.hpp"
#include "kernels/kernels.hpp"
#include "move/algorithms.hpp"
#include "move/message/patterns.hpp"
#include "move/message/segment_stream.hpp"

namespace unisono::move {

namespace {

class RecursiveDoubling final : public Machine {
 public:
  RecursiveDoubling(MoveContext context, DType dtype, ReduceOp op, std::span<std::byte> data)
      : Machine("allreduce/recursive_doubling", context),
        dtype_(dtype),
        op_(op),
        data_(data),
        other_(context.n() > 1 ? data.size() : 0) {
    const patterns::Doubling pattern{context.n(), context.me()};
    const int me = context.me();
    if (pattern.sits_out()) {
      add_round(me - 1, Phase::fold, 0, Kind::give);
      add_round(me - 1, Phase::unfold, 0, Kind::take);
      return;
    }
    if (pattern.folded()) add_round(me + 1, Phase::fold, 0, Kind::absorb);
    for (int round = 0; round < pattern.rounds(); ++round) {
      add_round(pattern.partner(round), Phase::round, static_cast<unsigned>(round) % 8,
                Kind::exchange);
    }
    if (pattern.folded()) add_round(me + 1, Phase::unfold, 0, Kind::give);
  }

 private:
  enum class Kind : std::uint8_t { give, take, absorb, exchange };
  struct Round {
    Round(const MoveContext& context, int member, Phase phase, unsigned number)
        : partner(member), send(context, member, phase, number),
          receive(context, member, phase, number) {}
    int partner;
    SegmentStream send, receive;
    bool reduces = false;
  };

  void add_round(int member, Phase phase, unsigned number, Kind kind) {
    Round& round = rounds_.emplace_back(context_, member, phase, number);
    if (kind == Kind::give || kind == Kind::exchange) round.send.send_from(data_, 0);
    if (kind == Kind::take) round.receive.receive_into(data_, 0);
    if (kind == Kind::absorb || kind == Kind::exchange) {
      round.receive.receive_into(other_, 0);
      round.reduces = true;
    }
  }

  bool advance() override {
    while (current_ < rounds_.size()) {
      Round& round = rounds_[current_];
      round.send.advance(pass_);
      round.receive.advance(pass_);
      if (pass_.failed || !round.send.finished() || !round.receive.finished()) return false;
      if (round.reduces) reduce(round.partner);
      ++current_;
      pass_.moved = true;
    }
    return true;
  }

  void reduce(int partner) {
    std::array<const void*, 2> operands{data_.data(), other_.data()};
    if (partner < context_.me()) std::swap(operands[0], operands[1]);
    kernels::reduce_many(dtype_, op_, data_.data(), operands, data_.size() / size_of(dtype_));
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
  std::vector<std::byte> other_;
  std::deque<Round> rounds_;
  std::size_t current_ = 0;
};

}  // namespace

std::unique_ptr<CollectiveMachine> make_allreduce_recursive_doubling(MoveContext context,
                                                                     DType dtype, ReduceOp op,
                                                                     std::span<std::byte> data) {
  return std::make_unique<RecursiveDoubling>(context, dtype, op, data);
}

}  // namespace unisono::move
