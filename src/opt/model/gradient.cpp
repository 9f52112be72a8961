// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "opt/model/gradient.hpp"

#include <algorithm>

namespace unisono::opt {
namespace {

// Borders of column ranges with about equally many entries, at multiples of the accumulator's
// block.
std::vector<std::uint32_t> cut_columns(const Rows& rows, int parts) {
  std::vector<std::uint32_t> cuts{0};
  if (parts > 1) {
    constexpr std::uint32_t kBlock = Accumulator::kBlock;
    std::vector<std::uint64_t> entries(rows.width / kBlock + 1);
    for (const std::uint32_t column : rows.columns) ++entries[column / kBlock];
    std::uint64_t before = 0;
    for (std::size_t block = 0; block < entries.size(); ++block) {
      const auto made = static_cast<std::uint64_t>(cuts.size());
      if (static_cast<int>(made) < parts && block > 0 &&
          before * static_cast<std::uint64_t>(parts) >= made * rows.nonzeros()) {
        cuts.push_back(static_cast<std::uint32_t>(block) * kBlock);
      }
      before += entries[block];
    }
  }
  cuts.resize(static_cast<std::size_t>(parts) + 1, rows.width);
  for (std::uint32_t& cut : cuts) cut = std::min(cut, rows.width);
  return cuts;
}

}  // namespace

Gradient::Gradient(const Rows& rows, Workers& workers)
    : rows_(rows), workers_(workers), sum_(rows.width),
      cuts_(cut_columns(rows, workers.count())),
      pieces_(static_cast<std::size_t>(workers.count())) {}

SparseView Gradient::of(std::span<const std::uint32_t> batch, const Weights& weights, Loss loss) {
  slopes_.resize(batch.size());
  workers_.run_ranges(batch.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const double label = rows_.labels[batch[i]];
      const double margin = label * weights.dot(rows_.row(batch[i]));
      slopes_[i] = static_cast<float>(label * loss_slope(loss, margin));
    }
  });
  workers_.run([&](int index) {
    const auto i = static_cast<std::size_t>(index);
    add_columns(batch, cuts_[i], cuts_[i + 1]);
    Pairs& piece = pieces_[i];
    piece.indices.clear();
    piece.values.clear();
    // The last range is empty where there are fewer blocks of columns than threads.
    if (cuts_[i] < cuts_[i + 1]) sum_.take(cuts_[i], cuts_[i + 1], piece.indices, piece.values);
  });
  Pairs& result = results_[static_cast<std::size_t>(turn_ ^= 1)];
  result.indices.clear();
  result.values.clear();
  for (const Pairs& piece : pieces_) {
    result.indices.insert(result.indices.end(), piece.indices.begin(), piece.indices.end());
    result.values.insert(result.values.end(), piece.values.begin(), piece.values.end());
  }
  return {result.indices, result.values};
}

void Gradient::add_columns(std::span<const std::uint32_t> batch, std::uint32_t begin,
                           std::uint32_t end) {
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const float slope = slopes_[i];
    if (slope == 0) continue;
    const Entry row = rows_.row(batch[i]);
    const std::size_t first =
        begin == 0 ? 0
                   : static_cast<std::size_t>(
                         std::lower_bound(row.columns.begin(), row.columns.end(), begin) -
                         row.columns.begin());
    for (std::size_t k = first; k < row.columns.size() && row.columns[k] < end; ++k) {
      sum_.add(row.columns[k], slope * row.values[k]);
    }
  }
}

}  // namespace unisono::opt
