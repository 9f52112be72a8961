// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "move/message/machine.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/data/text.hpp"

namespace unisono::move {

namespace {

std::string rank_list(std::vector<Rank> ranks) {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return cat(ranks.size() == 1 ? "rank " : "ranks ", join_text(ranks));
}

}  // namespace

Machine::Machine(std::string name, MoveContext context)
    : context_(context), name_(std::move(name)) {
  UNISONO_CHECK(context.transport != nullptr && context.members != nullptr);
  UNISONO_CHECK(context.me() >= 0 && context.me() < context.n());
}

Step Machine::step() {
  if (finished_) return Step::finished;
  bool moved = false;
  while (!pass_.failed) {
    pass_.moved = false;
    const bool done = advance();
    if (pass_.failed) break;
    if (done) {
      finished_ = true;
      return Step::finished;
    }
    if (!pass_.moved) return moved ? Step::advanced : Step::waiting;
    moved = true;
  }
  return Step::waiting;
}

std::string Machine::describe() const {
  std::string out = cat(name_, ", set ", context_.set, ", bucket ", context_.bucket, ": ");
  if (finished_) return out + "finished";
  out += phase();
  OpenTransfer pending;
  add_pending(pending);
  if (!pending.receiving_from.empty()) {
    out += cat("; waits for data from ", rank_list(pending.receiving_from));
  }
  if (!pending.sending_to.empty()) {
    out += cat("; has not finished sending to ", rank_list(pending.sending_to));
  }
  if (pass_.failed) out += "; a transfer failed, the machine waits to be destroyed";
  return out;
}

}  // namespace unisono::move
