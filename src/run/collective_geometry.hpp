// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How the rows of one tensor go from member to member in a gather, scatter or alltoall. Pure: the
// same from the same agreed numbers, whether data then moves by messages or in shared memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/members.hpp"
#include "model/request.hpp"
#include "move/collective.hpp"

namespace unisono::run {

struct CollectiveGeometry {
  std::size_t row_bytes = 0;
  std::int64_t rows = 0;                    // of this member's result
  move::Extents sends, receives;            // in bytes, one per member; empty where not divided
  std::vector<std::int64_t> splits;         // alltoall: rows received from each member

  std::size_t bytes() const { return static_cast<std::size_t>(rows) * row_bytes; }
};

// What every member agreed on and, for an alltoall, what the counts say: the rows this member sends
// to each, and the rows it receives from each.
struct AgreedRows {
  std::span<const std::int64_t> extents = {};  // allgather: the rows of every member
  std::span<const std::int64_t> sent = {}, received = {};
};

CollectiveGeometry geometry_of(const Request& request, const Members& members,
                               const AgreedRows& rows);

// An alltoall in shared memory knows the counts of all members: sender, then receiver. The rows
// that one member receives are a column.
std::vector<std::int64_t> received_by(std::span<const std::int64_t> counts, std::size_t members,
                                      std::size_t receiver);

}  // namespace unisono::run
