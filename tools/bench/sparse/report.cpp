// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/sparse/report.hpp"

#include <algorithm>
#include <set>

#include "base/data/text.hpp"
#include "line_plot.hpp"
#include "model/options/option_values.hpp"
#include "text_table.hpp"

namespace unisono::tools {
namespace {

std::string sparse_job_line(const SparseBenchResults& results) {
  return cat(results.ranks, " ranks on ", results.hosts, results.hosts == 1 ? " host" : " hosts",
             ", transport ", results.transport, ", integrity ", results.integrity,
             results.emulate == "off" || results.emulate.empty()
                 ? ""
                 : cat(", EMULATED on top: ", results.emulate));
}

std::string percent(double part) { return cat(fixed(100 * part, part < 0.1 ? 3 : 1), " %"); }

std::string input_line(const SparseBenchInput& input) {
  return cat(input.length, " x ", input.dtype, " (",
             fixed(static_cast<double>(input.bytes) / 1e6, 2), " MB), ", input.support, ": ",
             input.nnz, " elements on each rank (", percent(input.density), "), ", input.nnz_out,
             " in the sum: ", percent(input.fill_in()), ", expected ",
             percent(input.expected_fill_in()));
}

std::string kilobytes(double bytes) { return bytes <= 0 ? "-" : fixed(bytes / 1e3, 1); }

std::string row_name(const SparseBenchRow& row) {
  return cat(row.dense() ? "dense allreduce, " : "", row.name(),
             row.ran.empty() || row.ran == row.algorithm ? "" : cat(" (", row.ran, ")"));
}

std::string times_over(const SparseBenchRow* dense, const SparseBenchRow& row) {
  return dense == nullptr ? "-" : cat(fixed(dense->median_us() / row.median_us(), 2), "x");
}

}  // namespace

std::string sparse_table(const SparseBenchSettings& settings, const Machine& machine,
                         const SparseBenchResults& results) {
  std::string out = cat(sparse_job_line(results), "; ", settings.repeat, " turns\n",
                        describe(machine), ", load ", fixed(machine.load, 1), "\n");
  bool any_lossy = false;
  for (std::size_t i = 0; i < results.inputs.size(); ++i) {
    const SparseBenchRow* dense = dense_beside(results, static_cast<int>(i));
    TextTable grid{{"algorithm", "time, us", "p10", "p90", "over dense", "kB sent", "predicted",
                    "counted", "predicted us"}};
    std::string notes;
    for (const SparseBenchRow& row : results.rows) {
      if (row.input != static_cast<int>(i)) continue;
      if (row.times_us.empty()) {
        notes += cat("not measured: ", row_name(row), ": ", row.refused, "\n");
        continue;
      }
      any_lossy = any_lossy || row.lossy;
      grid.push_back({cat(row_name(row), row.lossy ? " *" : ""), fixed(row.median_us(), 1),
                      fixed(row.p10_us(), 1), fixed(row.p90_us(), 1), times_over(dense, row),
                      kilobytes(row.data_bytes), kilobytes(row.predicted_bytes),
                      kilobytes(row.counted_bytes),
                      row.predicted_us > 0 ? fixed(row.predicted_us, 1) : "-"});
    }
    out +=
        cat("\n", input_line(results.inputs[i]), "\n\n", aligned(grid, FirstColumn::text), notes);
  }
  return cat(
      out,
      "\nMedian of all calls, of the slowest rank of each; results checked. kB sent: by a rank "
      "on average,\nbeside closed forms from expected counts and from those that are there.\n",
      any_lossy ? "* lossy: what it leaves out is checked, too.\n" : "",
      results.shares_memory && !settings.dense.empty()
          ? "Ranks share memory: the dense allreduce goes through it, the sparse ones over "
            "messages.\n"
          : "");
}

std::string sparse_json(const SparseBenchSettings& settings, const Machine& machine,
                        const SparseBenchResults& results) {
  using nlohmann::ordered_json;
  ordered_json rows = ordered_json::array();
  for (const SparseBenchRow& row : results.rows) {
    const SparseBenchInput& input = results.inputs[static_cast<std::size_t>(row.input)];
    ordered_json entry{{"impl", "unisono"},
                       {"algorithm", row.name()},
                       {"codec", row.codec.empty() ? "none" : row.codec},
                       {"transport", results.transport},
                       {"collective", row.collective},
                       {"dtype", input.dtype},
                       {"ranks", results.ranks},
                       {"bytes", input.bytes},
                       {"length", input.length},
                       {"density", input.density},
                       {"support", input.support},
                       {"nnz", input.nnz},
                       {"nnz_out", input.nnz_out},
                       {"fill_in", input.fill_in()},
                       {"expected_fill_in", input.expected_fill_in()}};
    if (row.times_us.empty()) {
      entry["refused"] = row.refused;
      rows.push_back(std::move(entry));
      continue;
    }
    entry.update({{"ran", row.ran},
                  {"lossy", row.lossy},
                  {"dense_result", row.dense_result},
                  {"data_bytes", row.data_bytes},
                  {"data_bytes_most", row.data_bytes_most},
                  {"predicted_bytes", row.predicted_bytes},
                  {"counted_bytes", row.counted_bytes},
                  {"predicted_us", row.predicted_us},
                  {"median_us", row.median_us()},
                  {"p10_us", row.p10_us()},
                  {"p90_us", row.p90_us()},
                  {"repetitions", row.turns},
                  {"iterations", row.times_us.size()},
                  {"checked", row.checked}});
    if (const auto* dense = dense_beside(results, row.input); dense != nullptr) {
      entry["over_dense"] = dense->median_us() / row.median_us();
      entry["dense_algorithm"] = dense->algorithm;
    }
    rows.push_back(std::move(entry));
  }
  const ordered_json document{{"machine", machine_json(machine)},
                              {"command", settings.command},
                              {"ranks", results.ranks},
                              {"hosts", results.hosts},
                              {"transport", results.transport},
                              {"integrity", results.integrity},
                              {"emulate", results.emulate},
                              {"shares_memory", results.shares_memory},
                              {"seed", settings.seed},
                              {"links", ordered_json(nlohmann::json(results.links))},
                              {"reduce_us_per_mib", results.reduce_us_per_mib},
                              {"results", rows}};
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string sparse_svg(const Machine& machine, const SparseBenchResults& results) {
  std::set<double> densities;
  std::set<std::string> supports, dtypes;
  std::set<std::uint64_t> sizes;
  for (const SparseBenchInput& input : results.inputs) {
    densities.insert(input.density);
    supports.insert(input.support);
    dtypes.insert(input.dtype);
    sizes.insert(input.bytes);
  }
  const bool over_density = densities.size() > 1;
  LinePlot plot;
  plot.title = cat("sums of sparse vectors, ", sparse_job_line(results));
  plot.subtitle = describe(machine);
  plot.x_label = over_density ? "part of the vector that each rank has, %" : "bytes of the vector";
  plot.y_label = "median time, µs";
  plot.x_text = [over_density](double x) {
    return over_density ? cat(x, " %") : format_bytes(static_cast<std::int64_t>(x));
  };
  for (const SparseBenchRow& row : results.rows) {
    if (row.times_us.empty()) continue;
    const SparseBenchInput& input = results.inputs[static_cast<std::size_t>(row.input)];
    const std::string name =
        cat(row.dense() ? "dense, " : "", row.name(),
            supports.size() > 1 ? cat(", ", input.support) : "",
            dtypes.size() > 1 ? cat(", ", input.dtype) : "",
            over_density && sizes.size() > 1
                ? cat(", ", format_bytes(static_cast<std::int64_t>(input.bytes)))
                : "");
    auto line = std::find_if(plot.lines.begin(), plot.lines.end(),
                             [&](const PlotLine& each) { return each.name == name; });
    if (line == plot.lines.end()) {
      line = plot.lines.insert(plot.lines.end(), {name, {}, row.dense()});
    }
    line->points.push_back({over_density ? 100 * input.density : static_cast<double>(input.bytes),
                            row.median_us(), cat(fixed(row.median_us(), 1), " µs"), row.p10_us(),
                            row.p90_us()});
  }
  return svg_text(plot);
}

}  // namespace unisono::tools
