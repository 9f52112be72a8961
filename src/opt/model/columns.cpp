// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "opt/model/columns.hpp"

#include <algorithm>
#include <limits>

#include "opt/job/agree.hpp"
#include "opt/job/text.hpp"

namespace unisono::opt {
namespace {

// What a rank sends at once, so that a gather stays small beside the rows themselves.
constexpr std::size_t kEntriesAtOnce = 4 << 20;

bool is_kept(const Entry& row, int rank, int ranks) {
  return std::any_of(row.columns.begin(), row.columns.end(), [&](std::uint32_t column) {
    return static_cast<int>(column % static_cast<std::uint32_t>(ranks)) == rank;
  });
}

}  // namespace

Columns columns_of(const Rows& all, int rank, int ranks) {
  Columns out;
  std::vector<std::size_t> kept;
  out.begins.assign(static_cast<std::size_t>(all.width) + 1, 0);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Entry row = all.row(i);
    if (!is_kept(row, rank, ranks)) continue;
    kept.push_back(i);
    out.labels.push_back(all.labels[i]);
    out.row_max = std::max(out.row_max, static_cast<std::uint32_t>(row.columns.size()));
    for (const std::uint32_t column : row.columns) ++out.begins[column + 1];
  }
  for (std::size_t j = 0; j < all.width; ++j) out.begins[j + 1] += out.begins[j];
  out.rows.resize(out.begins.back());
  out.values.resize(out.begins.back());
  std::vector<std::uint64_t> next(out.begins.begin(), out.begins.end() - 1);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const Entry row = all.row(kept[i]);
    for (std::size_t k = 0; k < row.columns.size(); ++k) {
      const std::uint64_t at = next[row.columns[k]]++;
      out.rows[at] = static_cast<std::uint32_t>(i);
      out.values[at] = row.values[k];
    }
  }
  return out;
}

Result<Rows> gather_rows(Engine& engine, const Rows& mine) {
  if (engine.size() == 1) return mine;
  std::vector<Rows> of(static_cast<std::size_t>(engine.size()));
  std::size_t at = 0;
  for (;;) {
    std::size_t end = at;
    while (end < mine.size() && mine.begins[end + 1] - mine.begins[at] <= kEntriesAtOnce) ++end;
    if (end == at && at < mine.size()) ++end;  // one row alone may be longer
    std::vector<std::uint64_t> lengths;
    for (std::size_t i = at; i < end; ++i) lengths.push_back(mine.begins[i + 1] - mine.begins[i]);
    const std::size_t from = mine.begins[at], count = mine.begins[end] - from;
    const auto rows = gather<std::uint64_t>(engine, lengths);
    if (!rows.ok()) return rows.status();
    const auto columns =
        gather<std::uint32_t>(engine, std::span(mine.columns).subspan(from, count));
    if (!columns.ok()) return columns.status();
    const auto values = gather<float>(engine, std::span(mine.values).subspan(from, count));
    if (!values.ok()) return values.status();
    const auto labels = gather<float>(engine, std::span(mine.labels).subspan(at, end - at));
    if (!labels.ok()) return labels.status();
    bool more = false;
    for (std::size_t rank = 0; rank < of.size(); ++rank) {
      Rows piece;
      for (const std::uint64_t length : rows.value()[rank]) {
        piece.begins.push_back(piece.begins.back() + length);
      }
      piece.columns = columns.value()[rank];
      piece.values = values.value()[rank];
      piece.labels = labels.value()[rank];
      more = more || piece.size() > 0;
      append_rows(of[rank], piece);
    }
    if (!more) break;
    at = end;
  }
  Rows all;
  for (Rows& part : of) {
    append_rows(all, part);
    part = {};
  }
  all.width = mine.width;
  if (all.size() > std::numeric_limits<std::uint32_t>::max()) {
    return wrong("coordinate descent takes at most 2^32 - 1 rows, not ", all.size());
  }
  return all;
}

}  // namespace unisono::opt
