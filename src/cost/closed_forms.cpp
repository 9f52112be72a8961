// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "cost/closed_forms.hpp"

#include <algorithm>
#include <array>

#include "base/check.hpp"

namespace unisono::cost {
namespace {

double rounds_of(int ranks) {
  double rounds = 0;
  for (long long reached = 1; reached < ranks; reached *= 2) rounds += 1;
  return rounds;
}

// Up to the root and down again: every round passes the whole vector on, the upward ones add it.
ClosedForm binary_tree(int ranks, const MessageCost& m) {
  const double rounds = rounds_of(ranks);
  return {2 * m.latency_s * rounds, (2 * m.per_byte_s + m.reduce_per_byte_s) * rounds};
}

// Pairs exchange the whole vector, at twice the distance each round.
ClosedForm recursive_doubling(int ranks, const MessageCost& m) {
  const double rounds = rounds_of(ranks);
  return {m.latency_s * rounds, (m.per_byte_s + m.reduce_per_byte_s) * rounds};
}

// Pairs exchange halves, then quarters, until each has summed its part; and the same way back.
ClosedForm halving_doubling(int ranks, const MessageCost& m) {
  const double both_ways = 2 * m.per_byte_s + m.reduce_per_byte_s;
  return {2 * m.latency_s * rounds_of(ranks), both_ways - both_ways / ranks};
}

// Each passes on a part of 1/N, N - 1 times to sum and N - 1 times to spread.
ClosedForm ring(int ranks, const MessageCost& m) {
  const double steps = ranks - 1;
  return {2 * steps * m.latency_s,
          2 * steps / ranks * m.per_byte_s + steps / ranks * m.reduce_per_byte_s};
}

constexpr std::array kForms = {
    ClosedFormRow{"binary-tree", "whole vectors to a root and back", binary_tree},
    ClosedFormRow{"recursive-doubling", "pairs exchange whole vectors: fewest messages",
                  recursive_doubling},
    ClosedFormRow{"halving-doubling", "pairs exchange halves, quarters ... and back",
                  halving_doubling},
    ClosedFormRow{"ring", "neighbours pass parts on: least data, most messages", ring},
};

}  // namespace

double ClosedForm::seconds(double bytes) const { return latency_s + per_byte_s * bytes; }

std::span<const ClosedFormRow> closed_form_table() { return kForms; }

ClosedForm closed_form(std::string_view name, int ranks, const MessageCost& message) {
  UNISONO_CHECK(ranks >= 1);
  const auto row = std::find_if(kForms.begin(), kForms.end(),
                                [&](const ClosedFormRow& each) { return each.name == name; });
  UNISONO_CHECK(row != kForms.end());
  return row->make(ranks, message);
}

}  // namespace unisono::cost
