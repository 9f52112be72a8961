// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "move/message/rounds.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/data/text.hpp"

namespace unisono::move {

RoundsMachine::Round& RoundsMachine::add_round(int to, int from, Phase phase, unsigned number) {
  return rounds_.emplace_back(context_, to, from, phase, number);
}

void RoundsMachine::send(Round& round, kernels::Operand from, std::size_t count) {
  const std::size_t each = width(from.partial);
  round.send.send_from({static_cast<const std::byte*>(from.at), count * each},
                       segment_elements() * each);
}

void RoundsMachine::receive(Round& round, std::byte* to, bool partials, std::size_t count) {
  const std::size_t each = width(partials);
  round.receive.receive_into({to, count * each}, segment_elements() * each);
}

void RoundsMachine::receive_and_reduce(Round& round, int member, const Reduction& reduction) {
  receive(round, reduction.came, reduction.came_partials, reduction.count);
  round.reduction = reduction;
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
    if (round.reduction.count > 0) reduce(round, std::min(left, round.receive.done()));
    if (!round.send.finished() || !round.receive.finished()) return false;
    ++current_;
    pass_.moved = true;
  }
  finish();
  return true;
}

void RoundsMachine::reduce(Round& round, std::size_t limit) {
  const Reduction& reduction = round.reduction;
  for (; round.reduced < limit; ++round.reduced) {
    const std::size_t begin = round.reduced * segment_elements();
    const std::size_t count = std::min(segment_elements(), reduction.count - begin);
    std::array operands{behind(reduction.mine, begin),
                        behind({reduction.came, reduction.came_partials}, begin)};
    if (round.came_first) std::swap(operands[0], operands[1]);
    kernels::reduce_partials(dtype_, op_, reduction.into + begin * width(reduction.into_partials),
                             reduction.into_partials, operands, count);
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
