// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// reducescatter, recursive halving: in every round two members halve the parts they both hold, each
// sends the half whose owners are on the other side and reduces the half it keeps, until it is left
// with its own part. Members beyond a power of two fold into a neighbour first, which sends them
// their part at the end (patterns.hpp).
// Steps: log2 n, two more when n is not a power of two. Bytes sent per member: all parts but its
// own, and the whole data where members fold. Wins with many members and data of middle size.
// 16- and 8-bit floats: the first round sends inputs as they are, later ones float32 partials; the
// last reduction rounds. Each side reduces (lower) op (upper).
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "move/algorithms.hpp"
#include "move/message/patterns.hpp"
#include "move/message/rounds.hpp"

namespace unisono::move {

namespace {

class HalvingReduceScatter final : public RoundsMachine {
 public:
  HalvingReduceScatter(MoveContext context, DType dtype, ReduceOp op,
                       std::span<const std::byte> data, const Extents& counts,
                       std::span<std::byte> out)
      : RoundsMachine("reducescatter/halving", context, dtype, op),
        pattern_{context.n(), context.me()}, out_(out), held_{data.data()} {
    begins_.push_back(0);
    for (const std::size_t count : counts) begins_.push_back(begins_.back() + count / width(false));
    const int me = context.me();
    const std::size_t all = begins_.back(), mine = out.size() / width(false);
    if (context.n() == 1) {
      if (!out.empty()) std::memcpy(out.data(), data.data(), out.size());
      return;
    }
    if (pattern_.sits_out()) {
      send(add_round(me - 1, Phase::fold), held_, all);
      receive(add_round(me - 1, Phase::unfold), out.data(), false, mine);
      return;
    }
    other_.reset(new std::byte[all * width(partials_)]);
    work_.reset(new std::byte[all * width(partials_)]);
    if (pattern_.folded()) {
      reduce_with(add_round(me + 1, Phase::fold), me + 1, false, {0, all}, false);
    }
    halve();
    if (!pattern_.folded()) return;
    const std::size_t neighbours = block(me + 1, me + 2).count();
    send(add_round(me + 1, Phase::unfold), behind({pair_.get()}, mine), neighbours);
  }

 private:
  // The elements that belong to members [first, last).
  patterns::Slice block(int first, int last) const {
    return {begins_[static_cast<std::size_t>(first)], begins_[static_cast<std::size_t>(last)]};
  }

  void halve() {
    int low = 0, high = pattern_.core();    // virtual ranks whose parts are held
    for (int bit = pattern_.rounds() - 1; bit >= 0; --bit) {
      const int middle = (low + high) / 2, partner = pattern_.partner(bit);
      const bool first = bit == pattern_.rounds() - 1, last = bit == 0;
      patterns::Slice kept = block(pattern_.member_of(low), pattern_.member_of(middle));
      patterns::Slice given = block(pattern_.member_of(middle), pattern_.member_of(high));
      const bool upper = pattern_.virtual_rank() >= middle;
      if (upper) std::swap(kept, given);
      (upper ? low : high) = middle;
      Round& round = add_round(partner, Phase::round, static_cast<unsigned>(bit) % 8);
      send(round, behind(held_, given.begin), given.count());
      const bool reduced = !first || patterns::Doubling{context_.n(), partner}.folded();
      reduce_with(round, partner, partials_ && reduced, kept, last);
    }
  }

  // The last reduction leaves the own part, with that of the neighbour who sits out behind it.
  void reduce_with(Round& round, int member, bool came_partials, patterns::Slice slice, bool last) {
    const bool partials = partials_ && !last;
    std::byte* into = work_.get() + slice.begin * width(partials);
    if (last && pattern_.folded()) pair_.reset(new std::byte[slice.count() * width(false)]);
    if (last) into = pattern_.folded() ? pair_.get() : out_.data();
    receive_and_reduce(round, member,
                       {.mine = behind(held_, slice.begin),
                        .came = other_.get() + slice.begin * width(partials_),
                        .came_partials = came_partials,
                        .into = into,
                        .into_partials = partials,
                        .count = slice.count()});
    held_ = {work_.get(), partials};
  }

  void finish() override {
    if (pair_ != nullptr && !out_.empty()) std::memcpy(out_.data(), pair_.get(), out_.size());
  }

  const patterns::Doubling pattern_;
  const std::span<std::byte> out_;
  std::vector<std::size_t> begins_;         // of each member's elements; one more at the end
  kernels::Operand held_;                   // when the rounds that have been added are over
  std::unique_ptr<std::byte[]> other_;      // what came, at the place of what it is reduced with
  std::unique_ptr<std::byte[]> work_;
  std::unique_ptr<std::byte[]> pair_;       // results of the own part and the neighbour's
};

}  // namespace

std::unique_ptr<CollectiveMachine> make_reducescatter_halving(MoveContext context, DType dtype,
                                                              ReduceOp op,
                                                              std::span<const std::byte> data,
                                                              const Extents& counts,
                                                              std::span<std::byte> out) {
  return std::make_unique<HalvingReduceScatter>(context, dtype, op, data, counts, out);
}

}  // namespace unisono::move
