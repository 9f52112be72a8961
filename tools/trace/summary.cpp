// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/summary.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/data/text.hpp"
#include "text_table.hpp"
#include "trace/quantile.hpp"

namespace unisono::tools {
namespace {

TimeSpread spread_of(const std::vector<double>& values) {
  TimeSpread spread{lower_quantile(values, 0.5), lower_quantile(values, 0.9), lower_quantile(values, 1), 0};
  for (const double value : values) spread.sum_us += value;
  return spread;
}

// One bucket, as all its ranks have seen it.
struct Seen {
  std::uint64_t ranks = 0;
  double first_ready = std::numeric_limits<double>::infinity();
  double last_ready = -first_ready, last_packed = -first_ready, last_moved = -first_ready;
  int last_rank = -1;
};

double readiness(std::span<const TensorRecord> tensors) {
  double ready = tensors.front().ready_us;
  for (const TensorRecord& tensor : tensors) ready = std::max(ready, tensor.ready_us);
  return ready;
}

std::string size_text(double bytes) {
  if (bytes < 10 * 1024) return cat(static_cast<std::uint64_t>(bytes), " bytes");
  if (bytes < 10 * 1024 * 1024) return cat(fixed(bytes / 1024, 1), " KiB");
  return cat(fixed(bytes / 1024 / 1024, 1), " MiB");
}

std::string spread_text(const TimeSpread& spread) {
  return cat("median ", fixed(spread.median_us, 0), " µs, 90 % within ", fixed(spread.p90_us, 0),
             " µs, at most ", fixed(spread.max_us, 0), " µs");
}

nlohmann::ordered_json spread_json(const TimeSpread& spread) {
  return {{"median_us", spread.median_us},
          {"p90_us", spread.p90_us},
          {"max_us", spread.max_us},
          {"sum_us", spread.sum_us}};
}

std::string clocks_text(const std::map<int, ClockRecord>& ranks) {
  double uncertain = 0;
  bool unknown = false;
  for (const auto& [rank, clock] : ranks) {
    uncertain = std::max(uncertain, clock.uncertain_us);
    unknown = unknown || clock.uncertain_us < 0;
  }
  if (unknown) return "aligned by the wall clocks of the hosts, for want of common exchanges";
  if (uncertain == 0) return "one clock for all ranks";
  return cat("aligned by common exchanges, at most ", fixed(uncertain, 0), " µs off");
}

std::string last_text(const Summary& summary) {
  std::vector<std::pair<std::uint64_t, int>> ranks;
  for (const auto& [rank, count] : summary.last) ranks.emplace_back(count, rank);
  std::stable_sort(ranks.begin(), ranks.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> words;
  for (const auto& [count, rank] : ranks) {
    const double share = 100.0 * static_cast<double>(count) / static_cast<double>(summary.shared);
    words.push_back(cat("rank ", rank, " ", fixed(share, 0), " %"));
    if (words.size() == 8) break;
  }
  if (ranks.size() > words.size()) words.push_back(cat(ranks.size() - words.size(), " more ranks"));
  return join_text(words);
}

}  // namespace

Summary summarize(const Recording& recording) {
  Summary all;
  all.ranks = recording.ranks;
  all.steps = find_steps(recording);
  all.missed = recording.missed;
  std::map<std::pair<std::uint32_t, std::uint64_t>, Seen> buckets;
  std::vector<double> negotiation, skew, wire;
  for (const BucketRecord& bucket : recording.buckets) {
    const auto tensors = recording.of(bucket);
    Seen& seen = buckets[{bucket.set, bucket.id}];
    if (seen.ranks++ == 0) {
      all.sizes.add(bucket.bytes);
      all.bytes += bucket.bytes;
      all.tensors += bucket.count;
    }
    for (const TensorRecord& tensor : tensors) {
      negotiation.push_back(tensor.agreed_us - tensor.ready_us);
    }
    const double ready = readiness(tensors);
    if (ready > seen.last_ready) seen.last_rank = bucket.rank;
    seen.first_ready = std::min(seen.first_ready, ready);
    seen.last_ready = std::max(seen.last_ready, ready);
    seen.last_packed = std::max(seen.last_packed, bucket.packed_us);
    seen.last_moved = std::max(seen.last_moved, bucket.moved_us);
  }
  for (const auto& [key, seen] : buckets) {
    wire.push_back(std::max(seen.last_moved - seen.last_packed, 0.0));
    if (seen.ranks < 2) continue;
    ++all.shared;
    ++all.last[seen.last_rank];
    skew.push_back(seen.last_ready - seen.first_ready);
  }
  all.buckets = buckets.size();
  all.negotiation = spread_of(negotiation);
  all.skew = spread_of(skew);
  all.wire = spread_of(wire);
  return all;
}

std::string summary_text(const std::string& path, const Summary& summary) {
  TextTable table;
  table.push_back({"ranks", cat(summary.ranks.size(), ", ", clocks_text(summary.ranks))});
  if (summary.steps) {
    const Steps& steps = summary.steps.value();
    table.push_back({"steps", cat(steps.count, ", ", fixed(steps.step_us / 1e3, 2), " ms each, ",
                                  steps.tensors.size(), " tensors of ",
                                  size_text(static_cast<double>(steps.bytes())),
                                  steps.by_sizes ? " (told by sizes, since no name comes twice)"
                                                 : "")});
  } else {
    table.push_back({"steps", cat("none found: ", summary.steps.status().message())});
  }
  table.push_back({"moved", cat(size_text(static_cast<double>(summary.bytes)), " in ",
                                summary.buckets, " buckets of ", summary.tensors, " tensors")});
  for (std::size_t i = 0; i < summary.sizes.counts.size(); ++i) {
    if (summary.sizes.counts[i] == 0) continue;
    table.push_back({cat("  ", SizeHistogram::kNames[i]), cat(summary.sizes.counts[i])});
  }
  table.push_back({"negotiation", spread_text(summary.negotiation)});
  if (summary.shared > 0) {
    table.push_back({"arrival skew", spread_text(summary.skew)});
    table.push_back({"last to come", last_text(summary)});
  }
  table.push_back({"wire", cat(fixed(summary.wire.sum_us / 1e3, 1), " ms; a bucket: ",
                               spread_text(summary.wire))});
  if (summary.missed > 0) {
    table.push_back({"missing", cat(summary.missed, " tensors came too fast to be written")});
  }
  std::size_t width = 0;
  for (const auto& row : table) width = std::max(width, width_of(row[0]));
  std::string text = cat(path, "\n");
  for (const auto& row : table) {
    text += cat(row[0], std::string(width + 3 - width_of(row[0]), ' '), row[1], "\n");
  }
  return text;
}

std::string summary_json(const std::string& path, const Summary& summary) {
  using nlohmann::ordered_json;
  ordered_json sizes = ordered_json::object(), last = ordered_json::object();
  for (std::size_t i = 0; i < summary.sizes.counts.size(); ++i) {
    sizes[SizeHistogram::kNames[i]] = summary.sizes.counts[i];
  }
  for (const auto& [rank, count] : summary.last) last[cat(rank)] = count;
  ordered_json clocks = ordered_json::array();
  for (const auto& [rank, clock] : summary.ranks) {
    clocks.push_back({{"rank", rank},
                      {"by", clock.by},
                      {"offset_us", clock.offset_us},
                      {"uncertain_us", clock.uncertain_us < 0 ? ordered_json()
                                                              : ordered_json(clock.uncertain_us)}});
  }
  ordered_json all{{"file", path},          {"ranks", summary.ranks.size()},
                   {"steps", 0},            {"step_us", nullptr},
                   {"step_bytes", nullptr}, {"bytes", summary.bytes},
                   {"buckets", summary.buckets}, {"tensors", summary.tensors},
                   {"bucket_sizes", std::move(sizes)},
                   {"negotiation", spread_json(summary.negotiation)},
                   {"skew", spread_json(summary.skew)},
                   {"last", std::move(last)},
                   {"wire", spread_json(summary.wire)},
                   {"missed", summary.missed},
                   {"clocks", std::move(clocks)}};
  if (summary.steps) {
    all["steps"] = summary.steps.value().count;
    all["step_us"] = summary.steps.value().step_us;
    all["step_bytes"] = summary.steps.value().bytes();
  }
  return all.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace unisono::tools
