// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/step/report.hpp"

#include <algorithm>
#include <map>

#include "base/data/text.hpp"
#include "bench/measure.hpp"
#include "text_table.hpp"

namespace unisono::tools {
namespace {

std::string job_line(const StepSettings& settings, const StepResults& results) {
  const sim::Workload& profile = settings.profile;
  return cat(profile.name, settings.scale == 1 ? "" : cat(" x ", settings.scale), ", ",
             profile.tensors.size(), " tensors, ",
             fixed(static_cast<double>(profile.bytes()) / 1e6, 1), " MB, compute ",
             fixed(profile.compute_us * 1e-3, 1), " ms, of which forward ",
             fixed(profile.forward_us * 1e-3, 1), "; ", results.ranks, " ranks on ", results.hosts,
             results.hosts == 1 ? " host" : " hosts");
}

std::string engine_line(const StepSettings& settings, const StepResults& results) {
  return cat("order ", results.order, ", transport ", results.transport, ", integrity ",
             results.integrity,
             results.emulate == "off" ? "" : cat(", EMULATED on top: ", results.emulate),
             settings.forward_waits ? ", layers wait for their own gradient" : "", "; ",
             settings.repeat, " turns of ", settings.steps, " steps");
}

// How many times as fast as another; "-" where that one was not measured.
std::string times(const StepRow* other, const StepRow& row) {
  return other == nullptr ? "-" : cat(fixed(other->median_ms() / row.median_ms(), 2), "x");
}

double exposed_ms(const StepSettings& settings, const StepRow& row) {
  return row.median_ms() - settings.profile.compute_us * 1e-3;
}

std::string safe_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else out += c;
  }
  return out;
}

// What a plan has chosen for how much of the data.
std::string codecs_text(const StepRow& row) {
  std::map<std::string, double> bytes;
  double all = 0;
  for (const StepBucket& bucket : row.methods) {
    bytes[bucket.codec.empty() ? "none" : bucket.codec] += bucket.bytes;
    all += bucket.bytes;
  }
  std::vector<std::string> parts;
  for (const auto& [codec, of] : bytes) {
    parts.push_back(cat(codec, " for ", fixed(100 * of / std::max(all, 1.0), 0), "% of the bytes"));
  }
  return parts.empty() ? "no plan" : join_text(parts);
}

}  // namespace

std::string step_table(const StepSettings& settings, const Machine& machine,
                       const StepResults& results) {
  const StepRow* wfbp = measured_row(results, "wfbp");
  const StepRow* single = measured_row(results, "single");
  const StepRow* best = best_row(results);
  TextTable grid{{"planner", "step, ms", "p90", "exposed", "buckets", "MB sent", "over wfbp",
                  "over single", "of best", "planned"}};
  std::string notes;
  bool unsettled = false;
  for (const StepRow& row : results.rows) {
    if (row.steps_ms.empty()) {
      notes += cat("not measured: ", row.planner, ": ", row.refused, "\n");
      continue;
    }
    if (row.planned < 1) notes += cat("not planned: ", row.planner, ": ", row.reason, "\n");
    unsettled = unsettled || row.planned < 1;
    grid.push_back({row.planner, fixed(row.median_ms(), 2), fixed(row.p90_ms(), 2),
                    fixed(exposed_ms(settings, row), 2), fixed(row.buckets, 1),
                    fixed(row.data_bytes / 1e6, 1), times(wfbp, row), times(single, row),
                    times(best, row), cat(fixed(100 * row.planned, 0), "%")});
  }
  if (results.plan_codecs != "none" && !results.plan_codecs.empty()) {
    for (const StepRow& row : results.rows) {
      if (!row.steps_ms.empty()) notes += cat(row.planner, ": ", codecs_text(row), "\n");
    }
  }
  return cat(job_line(settings, results), "\n", engine_line(settings, results), "\n",
             describe(machine), ", load ", fixed(machine.load, 1), "\n\n",
             aligned(grid, FirstColumn::text),
             "\nMedian of all steps of rank 0; exposed: beyond compute; sums checked. Planned: steps "
             "that followed a plan",
             unsettled ? ";\nin the others the planner arranged what was ready just then" : "",
             ".\n", notes);
}

std::string step_json(const StepSettings& settings, const Machine& machine,
                      const StepResults& results) {
  using nlohmann::ordered_json;
  const sim::Workload& profile = settings.profile;
  ordered_json rows = ordered_json::array();
  const StepRow* wfbp = measured_row(results, "wfbp");
  const StepRow* single = measured_row(results, "single");
  const StepRow* best = best_row(results);
  for (const StepRow& row : results.rows) {
    ordered_json entry{{"planner", row.planner}};
    if (row.steps_ms.empty()) {
      entry["refused"] = row.refused;
      rows.push_back(std::move(entry));
      continue;
    }
    entry.update({{"step_ms", row.median_ms()},
                  {"p10_ms", row.p10_ms()},
                  {"p90_ms", row.p90_ms()},
                  {"exposed_ms", exposed_ms(settings, row)},
                  {"buckets", row.buckets},
                  {"data_bytes", row.data_bytes},
                  {"control_messages", row.control_messages},
                  {"planned", row.planned},
                  {"order", row.strategy},
                  {"reason", row.reason},
                  {"plans", row.plans},
                  {"warmup_steps", row.warmup},
                  {"warmup_settled", row.settled},
                  {"late_ms", quantile(row.late_ms, 0.5)},
                  {"methods", ordered_json(nlohmann::json(row.methods))},
                  {"steps_ms", row.steps_ms}});
    if (wfbp != nullptr) entry["over_wfbp"] = wfbp->median_ms() / row.median_ms();
    if (single != nullptr) entry["over_single"] = single->median_ms() / row.median_ms();
    entry["of_best"] = best->median_ms() / row.median_ms();
    rows.push_back(std::move(entry));
  }
  const ordered_json document{{"machine", machine_json(machine)},
                              {"command", settings.command},
                              {"profile", profile.name},
                              {"scale", settings.scale},
                              {"tensors", profile.tensors.size()},
                              {"bytes", profile.bytes()},
                              {"compute_ms", profile.compute_us * 1e-3},
                              {"forward_ms", profile.forward_us * 1e-3},
                              {"forward_waits", settings.forward_waits},
                              {"ranks", results.ranks},
                              {"hosts", results.hosts},
                              {"transport", results.transport},
                              {"integrity", results.integrity},
                              {"emulate", results.emulate},
                              {"plan_codecs", results.plan_codecs},
                              {"links", ordered_json(nlohmann::json(results.links))},
                              {"reduce_us_per_mib", results.reduce_us_per_mib},
                              {"results", rows}};
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string profile_json(const sim::Workload& profile) {
  using nlohmann::ordered_json;
  ordered_json tensors = ordered_json::array();
  for (const sim::WorkloadTensor& tensor : profile.tensors) {
    tensors.push_back({{"name", tensor.name},
                       {"bytes", tensor.bytes},
                       {"ready_us", tensor.ready_us},
                       {"forward_us", tensor.forward_us}});
  }
  const ordered_json document{{"compute_us", profile.compute_us},
                              {"forward_us", profile.forward_us},
                              {"tensors", tensors}};
  return document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string step_svg(const StepSettings& settings, const Machine& machine,
                     const StepResults& results) {
  constexpr double kWidth = 960, kLeft = 150, kRight = 120, kTop = 90, kRow = 34, kBar = 22;
  const double compute_ms = settings.profile.compute_us * 1e-3;
  double most = compute_ms;
  std::vector<const StepRow*> rows;
  for (const StepRow& row : results.rows) {
    if (row.steps_ms.empty()) continue;
    rows.push_back(&row);
    most = std::max({most, row.median_ms(), row.p90_ms()});
  }
  const double height = kTop + kRow * static_cast<double>(rows.size()) + 50;
  const auto x = [&](double ms) { return kLeft + ms / most * (kWidth - kLeft - kRight); };
  std::string svg =
      cat("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", fixed(kWidth, 0), " ",
          fixed(height, 0), "\" font-family=\"sans-serif\" font-size=\"14\">\n",
          "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"20\" y=\"30\" "
          "font-size=\"18\">",
          safe_text(job_line(settings, results)), "</text>\n<text x=\"20\" y=\"52\" fill=\"#555\">",
          safe_text(engine_line(settings, results)),
          "</text>\n<text x=\"20\" y=\"72\" fill=\"#555\">", safe_text(describe(machine)),
          "</text>\n");
  double y = kTop;
  for (const StepRow* row : rows) {
    const double end = row->median_ms();
    const auto bar = [&](double from, double to, const char* colour) {
      return cat("<rect x=\"", fixed(x(from), 1), "\" y=\"", fixed(y, 1), "\" width=\"",
                 fixed(std::max(x(to) - x(from), 0.0), 1), "\" height=\"", fixed(kBar, 0),
                 "\" fill=\"", colour, "\"/>\n");
    };
    svg += cat("<text x=\"", fixed(kLeft - 10, 0), "\" y=\"", fixed(y + 16, 1),
               "\" text-anchor=\"end\">", safe_text(row->planner), "</text>\n",
               bar(0, std::min(compute_ms, end), "#56b4e9"), bar(compute_ms, end, "#d55e00"),
               "<path stroke=\"#333\" d=\"M", fixed(x(row->p10_ms()), 1), " ", fixed(y + kBar / 2, 1),
               "H", fixed(x(row->p90_ms()), 1), "\"/>\n<text x=\"",
               fixed(x(std::max(end, row->p90_ms())) + 8, 1), "\" y=\"", fixed(y + 16, 1), "\">",
               fixed(end, 1), " ms</text>\n");
    y += kRow;
  }
  return cat(svg, "<text x=\"", fixed(kLeft, 0), "\" y=\"", fixed(y + 20, 1),
             "\" fill=\"#555\">blue: compute; red: exposed communication; line: p10 to p90</text>\n"
             "</svg>\n");
}

}  // namespace unisono::tools
