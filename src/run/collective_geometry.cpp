// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/collective_geometry.hpp"

#include <numeric>

#include "base/check.hpp"
#include "run/row_split.hpp"

namespace unisono::run {
namespace {

std::int64_t sum(std::span<const std::int64_t> rows) {
  return std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
}

}  // namespace

CollectiveGeometry geometry_of(const Request& request, const Members& members,
                               const AgreedRows& rows) {
  CollectiveGeometry geometry;
  geometry.row_bytes = row_bytes(request);
  switch (request.kind) {
    case Collective::allgather:
      geometry.receives = to_bytes(rows.extents, geometry.row_bytes);
      geometry.rows = sum(rows.extents);
      break;
    case Collective::reducescatter: {
      const auto parts = divide_rows(request.shape[0], members.count());
      geometry.sends = to_bytes(parts, geometry.row_bytes);
      geometry.rows = parts[static_cast<std::size_t>(members.me)];
      break;
    }
    case Collective::alltoall:
      geometry.sends = to_bytes(rows.sent, geometry.row_bytes);
      geometry.receives = to_bytes(rows.received, geometry.row_bytes);
      geometry.splits.assign(rows.received.begin(), rows.received.end());
      geometry.rows = sum(rows.received);
      break;
    default:
      UNISONO_CHECK(false);                 // others have no rows to divide
  }
  return geometry;
}

std::vector<std::int64_t> received_by(std::span<const std::int64_t> counts, std::size_t members,
                                      std::size_t receiver) {
  std::vector<std::int64_t> column;
  for (std::size_t sender = 0; sender < members; ++sender) {
    column.push_back(counts[sender * members + receiver]);
  }
  return column;
}

}  // namespace unisono::run
