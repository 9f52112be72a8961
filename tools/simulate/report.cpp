// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "simulate/report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/data/text.hpp"
#include "order/pacing/pacing.hpp"
#include "plan/iteration/iteration.hpp"
#include "plan/planner.hpp"
#include "text_table.hpp"

namespace unisono::tools {
namespace {

using nlohmann::ordered_json;

std::string short_count(double value) {
  if (value >= 1e6) return fixed(value / 1e6, 1) + "M";
  if (value >= 1e4) return fixed(value / 1e3, 1) + "K";
  return fixed(value, value < 10 ? 1 : 0);
}

double samples_per_s(const SimulateSettings& settings, const SimulatedRow& row) {
  const double step_ms = settings.seeds > 1 ? row.step_ms.median : row.result.step_ms;
  return 1e3 * static_cast<double>(settings.global_batch) / step_ms;
}

// What stands behind the columns of a table that every row has.
void extend_heading(const SimulateSettings& settings, std::vector<std::string>& heading) {
  if (settings.seeds > 1) heading.insert(heading.end(), {"68 % of steps", "68 % of efficiencies"});
  if (settings.global_batch > 0) heading.insert(heading.end(), {"batch", "samples/s"});
}
void extend_line(const SimulateSettings& settings, const SimulatedRow& row,
                 std::vector<std::string>& line) {
  if (settings.seeds > 1) {
    line.push_back(cat(fixed(row.step_ms.low, 2), "-", fixed(row.step_ms.high, 2)));
    line.push_back(cat(fixed(row.efficiency.low, 3), "-", fixed(row.efficiency.high, 3)));
  }
  if (settings.global_batch > 0) {
    line.push_back(fixed(row.batch, 0));
    line.push_back(fixed(samples_per_s(settings, row), 0));
  }
}

std::string batch_text(const SimulateSettings& settings) {
  if (settings.global_batch == 0) return "";
  return cat("A global batch of ", settings.global_batch, ": compute is ",
             fixed(100 * settings.fixed_share, 0), " % fixed, and for the rest in proportion to ",
             "the batch of a rank; efficiency is against the compute of that batch.\n");
}

ordered_json row_json(int ranks, const std::string& order, const std::string& pacing,
                      const std::string& planner, const sim::SimResult& r,
                      const std::string& codecs = "none") {
  ordered_json row{{"ranks", ranks},
                   {"order", order},
                   {"pacing", pacing},
                   {"planner", planner},
                   {"codec", codecs},
                   {"step_ms", r.step_ms},
                   {"exposed_ms", r.exposed_ms},
                   {"control_messages", r.control_messages},
                   {"control_bytes", r.control_bytes},
                   {"efficiency", r.efficiency},
                   {"limited_by", r.limited_by},
                   {"step_p10_ms", r.step_p10_ms},
                   {"step_p90_ms", r.step_p90_ms},
                   {"straggler_ms", r.straggler_ms},
                   {"control_ms", r.control_ms},
                   {"negotiation_ms", r.negotiation_ms},
                   {"latency_ms", r.latency_ms},
                   {"bandwidth_ms", r.bandwidth_ms},
                   {"background_share", r.background_share},
                   {"spin_share", r.spin_share},
                   {"buckets", r.buckets},
                   {"steps", r.steps},
                   {"events", r.events},
                   {"digest", r.digest},
                   {"wall_s", r.wall_s}};
  if (!r.failure.ok()) row["failure"] = r.failure.message();
  return row;
}

// Of several seeds the row has the run in the middle, and here what all of them say.
void add_seeds(const SimulateSettings& settings, const SimulatedRow& row, ordered_json& out) {
  if (settings.seeds > 1 && row.result.failure.ok()) {
    const auto spread = [](const Spread& of) {
      return ordered_json{{"median", of.median}, {"low", of.low}, {"high", of.high}};
    };
    out["seeds"] = row.step_each_ms.size();
    out["step_ms_of_seeds"] = spread(row.step_ms);
    out["efficiency_of_seeds"] = spread(row.efficiency);
    out["step_ms_each"] = row.step_each_ms;
  }
  if (settings.global_batch == 0) return;
  out["batch"] = row.batch;
  if (row.result.failure.ok()) out["samples_per_s"] = samples_per_s(settings, row);
}

// 25557032 as 25,557,032.
std::string grouped_digits(std::int64_t value) {
  std::string digits = std::to_string(value);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string parameters_text(const sim::ModelRow& model) {
  return cat(grouped_digits(model.parameters), " parameters in ", model.tensors, " tensors of ",
             model.layers, " layers, ", grouped_digits(model.bytes()), " bytes");
}

std::string times_text(const sim::ModelRow& model) {
  std::string out;
  for (const sim::StepTime& time : model.times) {
    out += cat("\n", std::string(18, ' '), time.device, ": ", time.ms, " ms, ",
               fixed(100 * time.forward_share, 0), " % of it forward, for ", time.batch, " (",
               time.source, ")");
  }
  return out;
}

std::string published(const sim::StudyRow& row) {
  if (!row.published) return "-";
  const auto text = [&](double v) { return fixed(v, row.unit == "%" ? 1 : 2); };
  return row.low == row.high ? text(row.low) : cat(text(row.low), "-", text(row.high));
}

std::string error_text(const sim::StudyRow& row) {
  if (!row.published) return "-";
  if (row.fitted) return "fitted";
  if (row.error() == 0) return "within";
  return cat(row.error() > 0 ? "+" : "", fixed(100 * row.error(), 0), " %");
}

std::string seeds_text(const SimulateSettings& settings) {
  const std::uint64_t first = settings.base.seed;
  return settings.seeds == 1
             ? cat("seed ", first)
             : cat("seeds ", first, " to ", first + static_cast<std::uint64_t>(settings.seeds) - 1);
}

std::string topology_text(const sim::Network& network) {
  std::string out;
  if (network.nics > 1) out += cat(", ", network.nics, " adapters each");
  if (network.hosts_per_switch > 0) {
    out += cat(", ", network.hosts_per_switch, " hosts to a switch, oversubscribed ",
               fixed(network.oversubscription, 1), " to 1");
  }
  return out;
}

std::string job_text(const sim::SimSettings& base) {
  return cat(base.workload.name, ": ", base.workload.tensors.size(), " tensors, ",
             fixed(static_cast<double>(base.workload.bytes()) / 1e6, 1), " MB, compute ",
             fixed(base.workload.compute_us / 1e3, 1), " ms; network ", base.network.name, ", ",
             base.host.ranks_per_host, " ranks per host", topology_text(base.network));
}

std::string timeline_table(const SimulateSettings& settings,
                           const std::vector<SimulatedRow>& rows) {
  TextTable grid{{"planner", "ranks", "step ms", "exposed", "efficiency", "buckets", "limited by"}};
  extend_heading(settings, grid[0]);
  if (settings.detail) grid[0].insert(grid[0].end(), {"latency", "bandwidth"});
  for (const SimulatedRow& row : rows) {
    const sim::SimResult& r = row.result;
    grid.push_back({row.planner, cat(row.ranks), fixed(r.step_ms, 2), fixed(r.exposed_ms, 2),
                    fixed(r.efficiency, 3), fixed(r.buckets, 0), r.limited_by});
    extend_line(settings, row, grid.back());
    if (!settings.detail) continue;
    grid.back().insert(grid.back().end(), {fixed(r.latency_ms, 2), fixed(r.bandwidth_ms, 2)});
  }
  const bool forward = settings.base.workload.forward_us > 0;
  return cat(job_text(settings.base), "; a timeline\n\n", aligned(grid, FirstColumn::text),
             "\nms per step; exposed: beyond compute. Planned beforehand: no agreement, no noise, ",
             "no faults.\ntwo-phase and priority may overlap the next forward pass, the others ",
             "end before it.\n", batch_text(settings),
             forward ? ""
                     : "The workload has no forward times, so every tensor is needed at once.\n");
}

std::string events_table(const SimulateSettings& settings, const std::vector<SimulatedRow>& rows) {
  const sim::SimSettings& base = settings.base;
  TextTable grid{{"order", "pacing", "planner", "ranks", "step ms", "exposed", "efficiency",
                  "messages", "bytes", "buckets", "limited by"}};
  extend_heading(settings, grid[0]);
  if (settings.detail) {
    const char* more[] = {"straggler", "control", "latency", "bandwidth", "background", "spins",
                          "events", "wall s"};
    grid[0].insert(grid[0].end(), std::begin(more), std::end(more));
  }
  std::string failures;
  for (const SimulatedRow& row : rows) {
    const sim::SimResult& r = row.result;
    std::vector<std::string> line{row.order, row.pacing, row.planner, cat(row.ranks)};
    if (r.steps == 0) {
      line.push_back("failed");
    } else {
      // A job that failed later has no medians, but had steps.
      const bool middle = settings.seeds > 1 && r.failure.ok();
      line.insert(line.end(), {fixed(middle ? row.step_ms.median : r.step_ms, 2),
                               fixed(r.exposed_ms, 2),
                               fixed(middle ? row.efficiency.median : r.efficiency, 3),
                               short_count(r.control_messages), short_count(r.control_bytes),
                               fixed(r.buckets, 1), r.limited_by});
      if (r.failure.ok()) extend_line(settings, row, line);
    }
    if (settings.detail && r.steps > 0) {
      line.insert(line.end(), {fixed(r.straggler_ms, 2), fixed(r.control_ms, 2),
                               fixed(r.latency_ms, 2), fixed(r.bandwidth_ms, 2),
                               fixed(100 * r.background_share, 1) + "%",
                               fixed(100 * r.spin_share, 1) + "%",
                               short_count(static_cast<double>(r.events)), fixed(r.wall_s, 2)});
    }
    grid.push_back(std::move(line));
    if (r.failure.ok()) continue;
    failures += cat(row.order, ", ", row.pacing, ", ", row.ranks, " ranks, at ",
                    fixed(r.virtual_ms, 1), " ms: ", r.failure.message(), "\n");
  }
  return cat(job_text(base), "; ", base.iterations, " iterations; ", seeds_text(settings), "\n\n",
             aligned(grid, FirstColumn::text),
             "\nms per step; exposed: beyond compute; messages and bytes of the control plane, all "
             "ranks, per step.\n",
             settings.seeds > 1 ? "Steps and efficiencies: the median of the seeds, and the "
                                  "interval of their central 68 %; others: of the\nseed in the "
                                  "middle.\n"
                                : "",
             batch_text(settings), settings.note, settings.note.empty() ? "" : "\n",
             failures.empty() ? "" : "\nFailed:\n", failures);
}

}  // namespace

std::string table_text(const SimulateSettings& settings, const std::vector<SimulatedRow>& rows) {
  return settings.engine == SimulateEngine::timeline ? timeline_table(settings, rows)
                                                     : events_table(settings, rows);
}

std::string json_text(const SimulateSettings& settings, const std::vector<SimulatedRow>& rows) {
  ordered_json results = ordered_json::array();
  for (const SimulatedRow& row : rows) {
    // On a timeline these have none to choose.
    const bool encodes = settings.engine == SimulateEngine::events ||
                         (row.planner != "groups" && row.planner != "two-phase");
    results.push_back(row_json(row.ranks, row.order, row.pacing, row.planner, row.result,
                               encodes ? settings.base.plan_codecs : "none"));
    add_seeds(settings, row, results.back());
  }
  const sim::SimSettings& base = settings.base;
  const bool timeline = settings.engine == SimulateEngine::timeline;
  const ordered_json document{{"command", settings.command},
                              {"engine", timeline ? "timeline" : "events"},
                              {"seed", base.seed},
                              {"workload",
                               {{"name", base.workload.name},
                                {"tensors", base.workload.tensors.size()},
                                {"bytes", base.workload.bytes()},
                                {"compute_us", base.workload.compute_us}}},
                              {"network", base.network.name},
                              {"ranks_per_host", base.host.ranks_per_host},
                              {"nics", base.network.nics},
                              {"hosts_per_switch", base.network.hosts_per_switch},
                              {"oversubscription", base.network.oversubscription},
                              {"results", results}};
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string study_text(const SimulateSettings& settings, const SeededStudy& seeded) {
  const sim::Study& study = seeded.study;
  TextTable grid{{"figure", "published", "simulated", "unit", "error"}};
  if (settings.seeds > 1) grid[0].push_back("68 %");
  std::string notes;
  for (std::size_t i = 0; i < study.rows.size(); ++i) {
    const sim::StudyRow& row = study.rows[i];
    const int digits = row.unit == "%" ? 1 : 2;
    grid.push_back({row.figure, published(row), fixed(row.simulated, digits), row.unit,
                    error_text(row)});
    if (settings.seeds > 1) {
      const Spread& spread = seeded.simulated[i];
      grid.back().push_back(cat(fixed(spread.low, digits), "-", fixed(spread.high, digits)));
    }
    if (!row.note.empty()) notes += cat("  ", row.figure, ": ", row.note, "\n");
  }
  TextTable runs{{"run", "ranks", "order", "pacing", "planner", "step ms", "efficiency",
                  "straggler", "control", "latency", "bandwidth", "background", "spins",
                  "limited by", "events", "wall s"}};
  for (const sim::StudyRun& run : study.runs) {
    const sim::SimResult& r = run.result;
    runs.push_back({run.name, cat(run.ranks), run.order, run.pacing, run.planner,
                    fixed(r.step_ms, 2), fixed(r.efficiency, 3), fixed(r.straggler_ms, 2),
                    fixed(r.control_ms, 2), fixed(r.latency_ms, 2), fixed(r.bandwidth_ms, 2),
                    fixed(100 * r.background_share, 1) + "%", fixed(100 * r.spin_share, 1) + "%",
                    r.limited_by, short_count(static_cast<double>(r.events)), fixed(r.wall_s, 1)});
  }
  return cat("study ", settings.study, "; ", seeds_text(settings), "\n\n",
             aligned(grid, FirstColumn::text), notes.empty() ? "" : "\nNotes:\n", notes,
             "\nRuns (ms per step", settings.seeds > 1 ? "; of the first seed" : "", "):\n",
             aligned(runs, FirstColumn::text));
}

std::string study_json(const SimulateSettings& settings, const SeededStudy& seeded) {
  const sim::Study& study = seeded.study;
  ordered_json rows = ordered_json::array(), runs = ordered_json::array();
  for (std::size_t i = 0; i < study.rows.size(); ++i) {
    const sim::StudyRow& row = study.rows[i];
    // A figure that nobody published has null for what it cannot be compared with.
    const auto compared = [&](double value) {
      return row.published ? ordered_json(value) : ordered_json();
    };
    rows.push_back({{"figure", row.figure},
                    {"unit", row.unit},
                    {"published_low", compared(row.low)},
                    {"published_high", compared(row.high)},
                    {"simulated", row.simulated},
                    {"error", compared(row.error())},
                    {"fitted", row.fitted},
                    {"note", row.note}});
    if (settings.seeds == 1) continue;
    rows.back()["simulated_low"] = seeded.simulated[i].low;
    rows.back()["simulated_high"] = seeded.simulated[i].high;
  }
  for (const sim::StudyRun& run : study.runs) {
    runs.push_back(row_json(run.ranks, run.order, run.pacing, run.planner, run.result));
    runs.back()["name"] = run.name;
  }
  const ordered_json document{{"command", settings.command},
                              {"study", settings.study},
                              {"seed", settings.base.seed},
                              {"seeds", settings.seeds},
                              {"figures", rows},
                              {"results", runs}};
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string list_text() {
  std::string out;
  const auto section = [&](std::string_view title, const auto& rows, const auto& line) {
    out += cat(out.empty() ? "" : "\n", title, "\n");
    for (const auto& row : rows) out += cat("  ", line(row), "\n");
  };
  const auto padded = [](std::string_view name, std::size_t width) {
    return cat(name, std::string(width - std::min(name.size(), width - 1), ' '));
  };
  const auto named = [&](const auto& row) { return cat(padded(row.name, 14), row.about); };
  section("Models, and the compute of a step on devices for --device", sim::model_table(),
          [&](const sim::ModelRow& m) {
            return cat(padded(m.name, 16), parameters_text(m), "; ", m.about, times_text(m));
          });
  section("Networks", sim::network_table(), [&](const sim::Network& n) {
    return cat(padded(n.name, 16), n.gb_per_s, " GB/s, L ", n.latency_us, " us, o ",
               n.overhead_us, " us, collective hop ", n.hop_us, " us; ", n.source);
  });
  section("Orders", order::order_table(), named);
  section("Pacings", order::pacing_table(), named);
  section("Planners", plan::planner_table(), named);
  section("Planners of a whole iteration, on a timeline (merged-methods: not simulated)",
          plan::iteration_table(), named);
  section("Studies", sim::study_table(), named);
  return out;
}

}  // namespace unisono::tools
