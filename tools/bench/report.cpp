// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/data/text.hpp"
#include "model/options/option_values.hpp"
#include "text_table.hpp"

namespace unisono::tools {
namespace {

// The rows of one size and type.
using Line = std::vector<const Row*>;

std::vector<Line> lines_of(const std::vector<Row>& rows) {
  std::vector<Line> lines;
  for (const Row& row : rows) {
    if (lines.empty() || lines.back().front()->bytes != row.bytes ||
        lines.back().front()->dtype != row.dtype) {
      lines.emplace_back();
    }
    lines.back().push_back(&row);
  }
  return lines;
}

const Row* limit_of(const Line& line) {
  const auto at = std::find_if(line.begin(), line.end(),
                               [](const Row* row) { return row->label.limit(); });
  return at == line.end() ? nullptr : *at;
}

const Row* best_peer_of(const Line& line) {
  const Row* best = nullptr;
  for (const Row* row : line) {
    if (row->label.ours() || row->label.limit() || !row->checked) continue;
    if (best == nullptr || row->median_us < best->median_us) best = row;
  }
  return best;
}

// A limit is what the machine can do, so its p10 is used, which other programs disturb least.
double percent_of(const Row& limit, const Row& row) { return 100 * limit.p10_us / row.median_us; }

std::string cell(const Row& row, const Row* best, const Row* limit) {
  std::string text =
      cat(short_number(row.median_us), " ±", short_number((row.p90_us - row.p10_us) / 2));
  if (row.label.limit()) return cat(text, "  ", short_number(traffic_gb_per_s(row)), " GB/s");
  if (!row.checked) return cat(text, " WRONG");
  if (!row.label.ours()) return text;
  if (best != nullptr) text += cat("  ", fixed(best->median_us / row.median_us, 2), "x");
  if (limit != nullptr) text += cat("  ", fixed(percent_of(*limit, row), 0), "%");
  return text;
}

}  // namespace

std::string short_number(double value) {
  return fixed(value, value < 10 ? 2 : value < 100 ? 1 : 0);
}

double traffic_gb_per_s(const Row& row) {
  return 2e-3 * row.ranks * static_cast<double>(row.bytes) / std::max(row.p10_us, 1e-9);
}

std::string table_text(const BenchSettings& settings, const Machine& machine,
                       const Measurement& measured) {
  std::vector<std::string> headings;
  for (const Row& row : measured.rows) {
    if (std::find(headings.begin(), headings.end(), row.label.heading()) == headings.end()) {
      headings.push_back(row.label.heading());
    }
  }
  const bool several = settings.dtypes.size() > 1;
  std::vector<std::vector<std::string>> grid{{"bytes"}};
  if (several) grid[0].insert(grid[0].begin(), "dtype");
  grid[0].insert(grid[0].end(), headings.begin(), headings.end());
  bool any_peer = false, any_limit = false;
  for (const Line& line : lines_of(measured.rows)) {
    const Row *best = best_peer_of(line), *limit = limit_of(line);
    any_peer = any_peer || best != nullptr;
    any_limit = any_limit || limit != nullptr;
    std::vector<std::string> cells{format_bytes(line.front()->bytes)};
    if (several) cells.insert(cells.begin(), std::string(bench_name(line.front()->dtype)));
    for (const std::string& heading : headings) {
      const auto at = std::find_if(line.begin(), line.end(), [&](const Row* row) {
        return row->label.heading() == heading;
      });
      cells.push_back(at == line.end() ? "-" : cell(**at, best, limit));
    }
    grid.push_back(std::move(cells));
  }
  std::string versions;
  for (const auto& [name, version] : machine.versions) {
    versions += cat(versions.empty() ? "" : ", ", name, " ", version);
  }
  std::string out = cat(name_of(settings.collective), ", ", settings.ranks, " ranks",
                        several ? "" : cat(", ", bench_name(settings.dtypes.front())), ", ",
                        settings.repetitions, " rounds\n", describe(machine), ", load ",
                        fixed(machine.load, 1), "\n", versions, "\n\n",
                        aligned(grid, FirstColumn::figures),
                        "\nµs: median of all iterations ± half of p90 - p10; results checked.\n");
  if (any_peer) out += "x: how many times as fast as the best peer; below 1 is slower.\n";
  if (any_limit) out += "%: of the memory limit, 2 x ranks x bytes at the GB/s shown, its p10.\n";
  for (const auto& [heading, text] : measured.explanations) out += cat("\n", heading, "\n", text);
  return out;
}

std::string json_text(const BenchSettings& settings, const Machine& machine,
                      const Measurement& measured) {
  using nlohmann::ordered_json;
  ordered_json rows = ordered_json::array();
  for (const Line& line : lines_of(measured.rows)) {
    const Row* limit = limit_of(line);
    for (const Row* row : line) {
      ordered_json entry{{"impl", row->label.impl},
                         {"algorithm", row->label.algorithm},
                         {"transport", row->label.transport},
                         {"collective", name_of(row->collective)},
                         {"dtype", bench_name(row->dtype)},
                         {"ranks", row->ranks},
                         {"bytes", row->bytes},
                         {"median_us", row->median_us},
                         {"p10_us", row->p10_us},
                         {"p90_us", row->p90_us},
                         {"repetitions", row->repetitions},
                         {"checked", row->checked},
                         {"iterations", row->iterations}};
      if (row->label.limit()) entry["gb_per_s"] = traffic_gb_per_s(*row);
      if (row->label.ours() && limit != nullptr) {
        entry["percent_of_limit"] = percent_of(*limit, *row);
      }
      rows.push_back(std::move(entry));
    }
  }
  ordered_json document{{"machine", machine_json(machine)},
                        {"command", settings.command},
                        {"results", rows}};
  for (const auto& [heading, text] : measured.explanations) {
    document["explanations"][heading] = text;
  }
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace unisono::tools
