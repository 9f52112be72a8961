// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "opt/data/dataset.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "opt/data/cache.hpp"
#include "opt/job/agree.hpp"
#include "opt/job/text.hpp"
#include "opt/job/workers.hpp"

namespace unisono::opt {
namespace {

Status bad_line(const std::string& path, const BadLine& bad) {
  const auto line = line_at(path, bad.offset);
  if (!line.ok()) return line.status();
  return wrong(path, ":", line.value(), ":", bad.column, ": ", bad.reason);
}

// What was read of a part, from the cache or from the text. The stamp is set when a cache is wanted
// and is to be written.
struct Found {
  ReadPart part;
  std::optional<FileStamp> uncached;
  std::string note;
};

Result<Found> find_part(const LoadSettings& settings, Part part) {
  Found found;
  if (!settings.cache.empty()) {
    auto stamp = stamp_of(settings.path);
    if (!stamp.ok()) return stamp.status();
    auto cached = read_cache(cache_path(settings.cache, part), stamp.value(), part);
    if (cached.ok()) {
      found.part.rows = std::move(*cached);
      for (const float label : found.part.rows.labels) found.part.labels.see(label, 0);
      return found;
    }
    if (cached.status().code() != Code::unavailable) found.note = cached.status().message();
    found.uncached = stamp.value();
  }
  auto text = read_part(settings.path, part, settings.threads);
  if (!text.ok()) return text.status();
  found.part = std::move(*text);
  return found;
}

// Labels of all ranks in ascending order, or why they are no two classes.
Result<LabelPair> pair_of(const std::string& path, const LabelsSeen& all) {
  std::vector<float> values;
  for (int i = 0; i < all.count; ++i) values.push_back(all.first[i].value);
  std::sort(values.begin(), values.end());
  const std::string where = path.empty() ? std::string("the data") : path;
  if (all.count == 0) return wrong(where, ": there are no samples");
  if (all.count == 1) {
    return wrong(where, ": every label is ", values[0], "; two classes are needed");
  }
  if (all.count == 2) return LabelPair{values[0], values[1]};
  const auto last = std::max_element(
      all.first.begin(), all.first.end(),
      [](const LabelsSeen::One& a, const LabelsSeen::One& b) { return a.offset < b.offset; });
  const std::string reason = text_of("there is a third label, ", last->value, ", beside ");
  std::string others;
  for (const LabelsSeen::One& one : all.first) {
    if (&one != &*last) others += text_of(others.empty() ? "" : " and ", one.value);
  }
  if (path.empty()) return wrong(where, ": ", reason, others);
  return bad_line(path, {last->offset, 1, reason + others});
}

Status check_known(const std::string& path, const LabelPair& known, const LabelsSeen& all) {
  for (int i = 0; i < all.count; ++i) {
    const LabelsSeen::One& one = all.first[i];
    if (one.value == known.low || one.value == known.high) continue;
    return bad_line(path, {one.offset, 1, text_of("the model knows the labels ", known.low, " and ",
                                                  known.high, ", not ", one.value)});
  }
  return {};
}

void map_labels(Rows& rows, const LabelPair& pair) {
  for (float& label : rows.labels) label = label == pair.high ? 1.0f : -1.0f;
}

// Leaves out the columns from `width` on.
void narrow(Rows& rows, std::uint32_t width) {
  if (rows.width > width) {
    std::size_t kept = 0, at = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (; at < rows.begins[i + 1]; ++at) {
        if (rows.columns[at] >= width) continue;
        rows.columns[kept] = rows.columns[at];
        rows.values[kept++] = rows.values[at];
      }
      rows.begins[i + 1] = kept;
    }
    rows.columns.resize(kept);
    rows.values.resize(kept);
  }
  rows.width = width;
}

// What ranks tell each other about their parts.
struct PartNews {
  LabelsSeen labels;
  std::uint64_t rows = 0;
  std::uint32_t width = 0;
};

struct AllParts {
  LabelsSeen labels;
  std::vector<std::uint64_t> rows_of;
  std::uint32_t width = 0;
};

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

}  // namespace

std::uint64_t Dataset::total() const {
  return std::accumulate(rows_of.begin(), rows_of.end(), std::uint64_t{0});
}

Result<ReadPart> read_part(const std::string& path, Part part, int threads) {
  const auto text = text_of_part(path, part);
  if (!text.ok()) return text.status();
  const std::string_view lines = text.value().lines;
  Workers workers(std::max(threads, 1));
  const auto pieces = static_cast<std::size_t>(workers.count());
  std::vector<ReadPart> read(pieces);
  std::vector<std::optional<BadLine>> bad(pieces);
  workers.run([&](int index) {
    const auto i = static_cast<std::size_t>(index);
    const std::string_view own =
        cut_lines(lines, lines.size() * i / pieces, lines.size() * (i + 1) / pieces);
    const auto before = static_cast<std::uint64_t>(own.data() - lines.data());
    bad[i] = parse_lines(own, text.value().offset + before, read[i].rows, read[i].labels);
  });
  for (const std::optional<BadLine>& each : bad) {
    if (each) return bad_line(path, *each);
  }
  ReadPart all = std::move(read.front());
  for (std::size_t i = 1; i < pieces; ++i) {
    append_rows(all.rows, read[i].rows);
    all.labels.see(read[i].labels);
    read[i] = {};
  }
  return all;
}

Result<Dataset> load(Engine& engine, const LoadSettings& settings) {
  const Part part{engine.rank(), engine.size()};
  auto found = find_part(settings, part);
  if (Status bad = agree(engine, found.status()); !bad.ok()) return bad;
  auto all = tell_parts(engine, found->part);
  if (!all.ok()) return all.status();

  Dataset set;
  set.note = std::move(found->note);
  set.rows_of = all->rows_of;
  if (settings.labels) {
    if (Status bad = check_known(settings.path, *settings.labels, all->labels); !bad.ok()) return bad;
    set.labels = *settings.labels;
  } else {
    const auto pair = pair_of(settings.path, all->labels);
    if (!pair.ok()) return pair.status();
    set.labels = pair.value();
  }
  Rows& rows = found->part.rows;
  if (found->uncached) {
    // Written only now, so that what is cached was good on all ranks. A cache that cannot be written
    // is a nuisance, not a failure.
    const Status bad =
        write_cache(cache_path(settings.cache, part), *found->uncached, part, rows);
    if (!bad.ok()) set.note = bad.message();
  }
  map_labels(rows, set.labels);
  if (settings.width > 0) {
    narrow(rows, settings.width);
  } else {
    rows.width = all->width;
  }
  set.rows = std::move(rows);
  return set;
}

Result<Dataset> share(Engine& engine, Rows rows) {
  ReadPart part{std::move(rows), {}};
  for (const float label : part.rows.labels) part.labels.see(label, 0);
  auto all = tell_parts(engine, part);
  if (!all.ok()) return all.status();
  const auto pair = pair_of({}, all->labels);
  if (!pair.ok()) return pair.status();
  map_labels(part.rows, pair.value());
  part.rows.width = all->width;
  return Dataset{std::move(part.rows), pair.value(), all->rows_of, {}};
}

}  // namespace unisono::opt
