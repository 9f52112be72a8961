// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Textbook costs of an allreduce as a line in its bytes, from the latency of a message, the time
// per byte on the wire and the time per byte of a sum: what a planner needs where nothing was
// measured, and what papers compare by. algorithms.hpp has the finer forms of the algorithms that
// we run. All ranks get the same bits from the same figures, as there. Pure; thread: any.
#pragma once

#include <span>
#include <string_view>

namespace unisono::cost {

struct MessageCost {
  double latency_s = 0;                 // alpha
  double per_byte_s = 0;                // beta
  double reduce_per_byte_s = 0;         // gamma
};

struct ClosedForm {
  double latency_s = 0;                 // a, of an empty allreduce
  double per_byte_s = 0;                // b

  double seconds(double bytes) const;
};

struct ClosedFormRow {
  std::string_view name;
  std::string_view about;
  ClosedForm (*make)(int ranks, const MessageCost& message);
};
// The logarithm of a number of ranks that is no power of two is rounded up: so many rounds it
// takes. One rank costs nothing.
std::span<const ClosedFormRow> closed_form_table();
// The allreduce of that name, which must be in the table.
ClosedForm closed_form(std::string_view name, int ranks, const MessageCost& message);

}  // namespace unisono::cost
