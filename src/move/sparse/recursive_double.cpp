// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// sparse allreduce, recursive doubling: in round r a member exchanges everything it holds with the
// member whose virtual rank differs in bit r, and both merge the two streams, the lower block's
// first. Members beyond a power of two fold into a neighbour and get the result at the end.
// Steps: log2 n, two more when n is not a power of two. Bytes sent per member: log2 n times its
// stream where all have the same indices, up to n-1 times where they have none in common, and never
// more than log2 n times the dense data: a stream that has grown past its worth is dense from then
// on. Wins when streams are so short that only latency counts.
#include "base/data/text.hpp"
#include "move/message/patterns.hpp"
#include "move/sparse/algorithms.hpp"
#include "move/sparse/machine.hpp"

namespace unisono::move {

namespace {

class SparseDoubling final : public SparseMachine {
 public:
  SparseDoubling(MoveContext context, SparseWork work, stream::Stream& out)
      : SparseMachine("sparse_allreduce/ssar_recursive_double", context, std::move(work), out),
        pattern_{context.n(), context.me()} {}

 private:
  static constexpr unsigned kFold = 2, kUnfold = 3;  // channels; rounds take turns with 0 and 1

  bool proceed() override {
    while (true) {
      if (open_) {
        if (!exchange_.advance(pass_, trouble_)) return false;
        take_in();
        open_ = false;
        pass_.moved = true;
      }
      if (!begin_next()) return true;
    }
  }

  // Opens the next exchange; false when there is none.
  bool begin_next() {
    const int me = context_.me();
    exchange_.clear();
    if (stage_ == Stage::start) {
      held_ = stream::Stream::copy_of(work_.mine);
      stage_ = Stage::rounds;
      if (context_.n() > 1 && pattern_.sits_out()) {
        send(me - 1, kFold);
        stage_ = Stage::unfold;
        return open_ = true;
      }
      if (context_.n() > 1 && pattern_.folded()) {
        receive(me + 1, kFold, true);
        return open_ = true;
      }
    }
    if (stage_ == Stage::unfold) {          // of one that sits out
      receive(me - 1, kUnfold, false);
      stage_ = Stage::result;
      return open_ = true;
    }
    if (stage_ == Stage::rounds && round_ < pattern_.rounds()) {
      const int partner = pattern_.partner(round_);
      send(partner, static_cast<unsigned>(round_) % 2);
      receive(partner, static_cast<unsigned>(round_) % 2, true);
      ++round_;
      return open_ = true;
    }
    if (stage_ == Stage::rounds) {
      finish_with(std::move(held_));
      stage_ = Stage::over;
      if (context_.n() > 1 && pattern_.folded()) {
        exchange_.sends.emplace_back(context_, me + 1, kUnfold, packed(out_->view(), 0));
        return open_ = true;
      }
    }
    if (stage_ == Stage::result) {
      finish_with(std::move(held_));
      stage_ = Stage::over;
    }
    return false;
  }

  void send(int member, unsigned channel) {
    exchange_.sends.emplace_back(context_, member, channel, packed(held_.view(), 0));
    // What leaves dense counts as dense here, too, or the two sides would differ.
    if (shortest_format(length(), held_.nnz(), size_of(held_.dtype())) == StreamFormat::dense) {
      held_.densify(work_.op);
    }
  }
  void receive(int member, unsigned channel, bool partials) {
    exchange_.receives.emplace_back(context_, member, channel, expecting(0, length(), partials));
    from_ = member;
  }

  void take_in() {
    if (exchange_.receives.empty()) return;
    const stream::View& came = exchange_.receives.front().view();
    if (stage_ == Stage::result) {
      held_ = stream::Stream::copy_of(came);
    } else {
      held_ = from_ < context_.me() ? merge(came, held_.view()) : merge(held_.view(), came);
    }
  }

  void add_pending(OpenTransfer& pending) const override { exchange_.add_pending(pending); }
  std::string phase() const override {
    return cat("round ", round_, " of ", pattern_.rounds());
  }

  enum class Stage : std::uint8_t { start, rounds, unfold, result, over };
  const patterns::Doubling pattern_;
  Stage stage_ = Stage::start;
  int round_ = 0, from_ = 0;
  bool open_ = false;
  stream::Stream held_;
  PacketExchange exchange_;
};

}  // namespace

MadeMachine make_ssar_recursive_double(MoveContext context, SparseWork work, stream::Stream& out) {
  return std::make_unique<SparseDoubling>(context, std::move(work), out);
}

}  // namespace unisono::move
