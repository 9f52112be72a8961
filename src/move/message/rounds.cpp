// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "move/message/rounds.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/data/text.hpp"
#include "kernels/kernels.hpp"

namespace unisono::move {

RoundsMachine::Round& RoundsMachine::add_round(int to, int from, Phase phase, unsigned number) {
  return rounds_.emplace_back(context_, to, from, phase, number);
}

void RoundsMachine::reduce_into(Round& round, int member, std::span<std::byte> part,
                                std::byte* scratch) {
  round.receive.receive_into({scratch, part.size()});
  round.into = part;
  round.came = scratch;
  round.came_first = member < context_.me();
}

bool RoundsMachine::advance() {
  while (current_ < rounds_.size()) {
    Round& round = rounds_[current_];
    round.send.advance(pass_);
    round.receive.advance(pass_);
    if (pass_.failed) return false;
    // Where what is sent is also what is reduced, a segment must have left first.
    const std::size_t left = round.send.finished() ? round.receive.done() : round.send.done();
    if (!round.into.empty()) reduce(round, std::min(left, round.receive.done()));
    if (!round.send.finished() || !round.receive.finished()) return false;
    ++current_;
    pass_.moved = true;
  }
  return true;
}

void RoundsMachine::reduce(Round& round, std::size_t limit) {
  for (; round.reduced < limit; ++round.reduced) {
    const std::size_t begin = round.reduced * kSegmentBytes;
    const std::size_t length = std::min(kSegmentBytes, round.into.size() - begin);
    std::byte* mine = round.into.data() + begin;
    std::array<const void*, 2> operands{mine, round.came + begin};
    if (round.came_first) std::swap(operands[0], operands[1]);
    kernels::reduce_many(dtype_, op_, mine, operands, length / size_of(dtype_));
  }
}

void RoundsMachine::add_pending(OpenTransfer& pending) const {
  if (current_ == rounds_.size()) return;
  rounds_[current_].send.add_pending(pending);
  rounds_[current_].receive.add_pending(pending);
}

std::string RoundsMachine::phase() const {
  return cat("round ", current_ + 1, " of ", rounds_.size());
}

}  // namespace unisono::move
