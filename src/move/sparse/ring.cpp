// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// sparse allreduce around a ring: the segment of every member goes around once and takes in each
// member's elements on its way, and once more, whole, to all.
// Steps: 2 (n-1). Bytes sent per member: between 2 (n-1)/n of a stream, where all have the same
// indices, and (n-1)/2 of one and (n-1) of one in the two halves, where they have none in common.
// The baseline to compare others with: a long way for short messages.
#include "base/data/text.hpp"
#include "move/message/patterns.hpp"
#include "move/sparse/algorithms.hpp"
#include "move/sparse/split.hpp"

namespace unisono::move {

namespace {

class SparseRing final : public SparseMachine {
 public:
  SparseRing(MoveContext context, SparseWork work, stream::Stream& out)
      : SparseMachine("sparse_allreduce/sparse_ring", context, std::move(work), out),
        cuts_(even_cuts(work_.length(), context.n())),
        whole_(static_cast<std::size_t>(context.n())) {}

 private:
  bool proceed() override {
    const int n = context_.n(), me = context_.me();
    if (n == 1) {
      finish_with(stream::Stream::copy_of(work_.mine));
      return true;
    }
    while (step_ < 2 * (n - 1)) {
      const bool reducing = step_ < n - 1;
      const int turn = reducing ? step_ : step_ - (n - 1);
      const int leaving = patterns::wrap(me - turn + (reducing ? 0 : 1), n);
      const int coming = patterns::wrap(leaving - 1, n);
      if (!open_) begin(reducing, leaving, coming);
      if (!exchange_.advance(pass_, trouble_)) return false;
      take_in(reducing, coming);
      exchange_.clear();
      open_ = false;
      ++step_;
      pass_.moved = true;
    }
    finish_with(concatenation());
    return true;
  }

  std::uint64_t begin_of(int p) const { return cuts_[static_cast<std::size_t>(p)]; }
  std::uint64_t end_of(int p) const { return cuts_[static_cast<std::size_t>(p) + 1]; }
  bool owned(int p) const { return begin_of(p) < end_of(p); }

  void begin(bool reducing, int leaving, int coming) {
    const int right = patterns::ring_right(context_.me(), context_.n());
    const int left = patterns::ring_left(context_.me(), context_.n());
    const unsigned channel = reducing ? 0 : 1;
    if (owned(leaving)) {
      SharedPacket packet = whole_[static_cast<std::size_t>(leaving)];
      if (reducing) {
        packet = packed(step_ == 0 ? work_.mine.slice(begin_of(leaving), end_of(leaving))
                                   : held_.view(),
                        begin_of(leaving));
      }
      exchange_.sends.emplace_back(context_, right, channel, std::move(packet));
    }
    if (owned(coming)) {
      exchange_.receives.emplace_back(context_, left, channel,
                                      expecting(begin_of(coming), end_of(coming), reducing));
    }
    open_ = true;
  }

  void take_in(bool reducing, int coming) {
    if (!owned(coming)) return;
    const PacketReceiver& from = exchange_.receives.front();
    if (!reducing) {
      whole_[static_cast<std::size_t>(coming)] = from.packet();
      return;
    }
    const stream::Stream mine =
        stream::Stream::copy_of(work_.mine.slice(begin_of(coming), end_of(coming)));
    held_ = merge(from.view(), mine.view());
    if (step_ + 1 < context_.n() - 1) return;
    if (held_.dtype() != work_.dtype) held_ = stream::Stream::copy_of(held_.view(), work_.dtype);
    whole_[static_cast<std::size_t>(coming)] = packed(held_.view(), begin_of(coming));
  }

  stream::Stream concatenation() {
    std::deque<stream::Scratch> scratch;
    std::vector<stream::View> views;
    for (int p = 0; p < context_.n(); ++p) {
      stream::View view;
      view.pairs.dtype = work_.dtype;
      if (owned(p)) {
        const stream::Packet& packet = *whole_[static_cast<std::size_t>(p)];
        const auto header =
            stream::read_header(packet.header, expecting(begin_of(p), end_of(p), false));
        view = stream::read_payload(header.value(), packet.payload, scratch.emplace_back()).value();
      }
      views.push_back(view);
    }
    return concatenated(work_, cuts_, views);
  }

  void add_pending(OpenTransfer& pending) const override { exchange_.add_pending(pending); }
  std::string phase() const override {
    return cat("step ", step_ + 1, " of ", 2 * (context_.n() - 1));
  }

  const Cuts cuts_;
  int step_ = 0;
  bool open_ = false;
  stream::Stream held_;                     // the segment that has just come
  std::vector<SharedPacket> whole_;         // reduced segments
  PacketExchange exchange_;
};

}  // namespace

MadeMachine make_sparse_ring(MoveContext context, SparseWork work, stream::Stream& out) {
  return std::make_unique<SparseRing>(context, std::move(work), out);
}

}  // namespace unisono::move
