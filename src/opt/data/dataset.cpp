// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "opt/data/dataset.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "opt/data/file/cache.hpp"
#include "opt/data/share.hpp"
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
  auto text = read_part(settings.path, part, settings.threads, settings.progress);
  if (!text.ok()) return text.status();
  found.part = std::move(*text);
  return found;
}

// Which labels the data has; a third one is told with its place.
Result<LabelPair> pair_in_file(const std::string& path, const LabelsSeen& all) {
  auto pair = pair_of(all);
  if (pair.ok()) return pair;
  if (all.count < 3) return wrong(path, ": ", pair.status().message());
  const auto last = std::max_element(
      all.first.begin(), all.first.end(),
      [](const LabelsSeen::One& a, const LabelsSeen::One& b) { return a.offset < b.offset; });
  return bad_line(path, {last->offset, 1, pair.status().message()});
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

// Lines of one thread, slice by slice, so that how far all threads are can be told meanwhile.
std::optional<BadLine> parse_slices(std::string_view lines, std::uint64_t offset, ReadPart& out,
                                    const std::function<void(std::size_t)>& parsed) {
  constexpr std::size_t kSlice = std::size_t{4} << 20;
  reserve_for(lines, out.rows);
  for (std::size_t at = 0; at < lines.size();) {
    const std::string_view slice = cut_lines(lines, at, std::min(at + kSlice, lines.size()));
    auto bad = parse_lines(slice, offset + at, out.rows, out.labels);
    if (bad) return bad;
    at += slice.size();
    parsed(slice.size());
  }
  return std::nullopt;
}

}  // namespace

Result<ReadPart> read_part(const std::string& path, Part part, int threads,
                           const ReadProgress& progress) {
  const auto text = text_of_part(path, part, progress);
  if (!text.ok()) return text.status();
  const std::string_view lines = text.value().lines;
  Workers workers(std::max(threads, 1));
  const auto pieces = static_cast<std::size_t>(workers.count());
  std::vector<ReadPart> read(pieces);
  std::vector<std::optional<BadLine>> bad(pieces);
  reserve_for(lines, read.front().rows);    // the others are appended to these
  std::atomic<std::size_t> done = 0;
  workers.run([&](int index) {
    const auto i = static_cast<std::size_t>(index);
    const std::string_view own =
        cut_lines(lines, lines.size() * i / pieces, lines.size() * (i + 1) / pieces);
    const auto before = static_cast<std::uint64_t>(own.data() - lines.data());
    bad[i] = parse_slices(own, text.value().offset + before, read[i], [&](std::size_t parsed) {
      const std::size_t so_far = done += parsed;
      if (i > 0 || !progress) return;       // the first is the caller's own thread
      progress(static_cast<double>(so_far) / static_cast<double>(lines.size()), "reading");
    });
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
    const Status bad = check_known(settings.path, *settings.labels, all->labels);
    if (!bad.ok()) return bad;
    set.labels = *settings.labels;
  } else {
    const auto pair = pair_in_file(settings.path, all->labels);
    if (!pair.ok()) return pair.status();
    set.labels = pair.value();
  }
  Rows& rows = found->part.rows;
  if (found->uncached) {
    // Written only now, so that what is cached was good on all ranks. A cache that cannot be
    // written is a nuisance, not a failure.
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

}  // namespace unisono::opt
