// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "opt/data/share.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "opt/job/agree.hpp"
#include "opt/job/text.hpp"

namespace unisono::opt {
namespace {

struct PartNews {
  LabelsSeen labels;
  std::uint64_t rows = 0;
  std::uint32_t width = 0;
};

}  // namespace

std::uint64_t Dataset::total() const {
  return std::accumulate(rows_of.begin(), rows_of.end(), std::uint64_t{0});
}

Result<AllParts> tell_parts(Engine& engine, const ReadPart& part) {
  const PartNews mine{part.labels, part.rows.size(), part.rows.width};
  const auto news = gather<PartNews>(engine, std::span(&mine, 1));
  if (!news.ok()) return news.status();
  AllParts all;
  for (const std::vector<PartNews>& each : news.value()) {
    all.labels.see(each.at(0).labels);
    all.rows_of.push_back(each.at(0).rows);
    all.width = std::max(all.width, each.at(0).width);
  }
  return all;
}

Result<LabelPair> pair_of(const LabelsSeen& all) {
  std::vector<LabelsSeen::One> seen(all.first.begin(), all.first.begin() + all.count);
  if (seen.empty()) return wrong("there are no samples");
  if (seen.size() == 1) {
    return wrong("every label is ", seen[0].value, "; two classes are needed");
  }
  if (seen.size() == 2) {
    const auto [low, high] = std::minmax(seen[0].value, seen[1].value);
    return LabelPair{low, high};
  }
  std::stable_sort(seen.begin(), seen.end(),
                   [](const LabelsSeen::One& a, const LabelsSeen::One& b) {
                     return a.offset < b.offset;
                   });
  return wrong("there is a third label, ", seen[2].value, ", beside ", seen[0].value, " and ",
               seen[1].value);
}

void map_labels(Rows& rows, const LabelPair& pair) {
  for (float& label : rows.labels) label = label == pair.high ? 1.0f : -1.0f;
}

Result<Dataset> share(Engine& engine, Rows rows) {
  ReadPart part{std::move(rows), {}};
  for (const float label : part.rows.labels) part.labels.see(label, 0);
  auto all = tell_parts(engine, part);
  if (!all.ok()) return all.status();
  const auto pair = pair_of(all->labels);
  if (!pair.ok()) return pair.status();
  map_labels(part.rows, pair.value());
  part.rows.width = all->width;
  return Dataset{std::move(part.rows), pair.value(), all->rows_of, {}};
}

}  // namespace unisono::opt
