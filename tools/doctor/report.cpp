// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/data/text.hpp"
#include "text_table.hpp"

namespace unisono::tools {
namespace {

using nlohmann::ordered_json;

// The mend stands below its row, under what was found.
std::string rows_text(const std::vector<Finding>& findings, std::size_t width) {
  std::string text;
  for (const Finding& finding : findings) {
    const std::string mark = mark_name(finding.mark);
    text += cat(mark, std::string(6 - mark.size(), ' '), finding.check,
                std::string(width - std::min(width, width_of(finding.check)) + 2, ' '),
                finding.found, "\n");
    if (finding.mend.empty()) continue;
    text += cat(std::string(6 + width + 2, ' '), "mend: ", finding.mend, "\n");
  }
  return text;
}

std::string sum_text(const std::vector<Finding>& findings) {
  const auto count = [&](Mark mark) {
    return std::count_if(findings.begin(), findings.end(),
                         [&](const Finding& each) { return each.mark == mark; });
  };
  const auto warnings = count(Mark::warn);
  return cat(count(Mark::ok), " ok, ", warnings, warnings == 1 ? " warning, " : " warnings, ",
             count(Mark::fail), " failed\n");
}

ordered_json row_of(const Finding& finding) {
  ordered_json row;
  if (!finding.host.empty()) row["host"] = finding.host;
  row["check"] = finding.check;
  row["ok"] = finding.mark != Mark::fail;
  row["mark"] = mark_name(finding.mark);
  row["found"] = finding.found;
  row["mend"] = finding.mend;
  return row;
}

ordered_json visit_json(const Visit& visit) {
  ordered_json out{{"host", visit.host}, {"answered", visit.report.has_value()}};
  if (visit.report) {
    out["machine"] = {{"host", visit.report->host}, {"versions", visit.report->versions}};
  }
  if (visit.skew) {
    out["clock_ahead_s"] = visit.skew->ahead_s;
    out["clock_bound_s"] = visit.skew->bound_s;
  }
  if (visit.traffic) {
    out["gb_per_s"] = visit.traffic->gb_per_s;
    out["round_trip_us"] = visit.traffic->round_trip_us;
  }
  out["addresses"] = ordered_json::array();
  for (const Reached& each : visit.addresses) {
    out["addresses"].push_back(
        {{"address", each.address}, {"reached", each.trouble.empty()}, {"why", each.trouble}});
  }
  return out;
}

}  // namespace

HostVersions versions_of(const Diagnosis& diagnosis) {
  HostVersions hosts{{diagnosis.here.host, diagnosis.here.machine.versions}};
  for (const Visit& visit : diagnosis.visits) {
    if (visit.report) hosts.emplace_back(visit.host, visit.report->versions);
  }
  return hosts;
}

std::vector<Finding> all_findings(const Diagnosis& diagnosis) {
  std::vector<Finding> all = diagnosis.here.findings;
  for (const Visit& visit : diagnosis.visits) {
    all.insert(all.end(), visit.findings.begin(), visit.findings.end());
  }
  const auto compared = judge_versions(versions_of(diagnosis));
  all.insert(all.end(), compared.begin(), compared.end());
  return all;
}

bool lacks_something(const Diagnosis& diagnosis) {
  const auto all = all_findings(diagnosis);
  return std::any_of(all.begin(), all.end(),
                     [](const Finding& each) { return each.mark == Mark::fail; });
}

std::string diagnosis_text(const Diagnosis& diagnosis) {
  const auto all = all_findings(diagnosis);
  std::size_t width = 0;
  for (const Finding& finding : all) width = std::max(width, width_of(finding.check));
  std::string text = cat(diagnosis.here.host, ": ", describe(diagnosis.here.machine), "\n\n",
                         rows_text(diagnosis.here.findings, width));
  for (const Visit& visit : diagnosis.visits) {
    text += cat("\n", visit.host, "\n", rows_text(visit.findings, width));
  }
  const HostVersions versions = versions_of(diagnosis);
  if (const TextTable table = version_table(versions); !table.empty()) {
    text += cat("\nVersions that differ\n", aligned(table, FirstColumn::text),
                rows_text(judge_versions(versions), width));
  }
  return cat(text, "\n", sum_text(all));
}

std::string diagnosis_json(const Diagnosis& diagnosis) {
  const Machine& machine = diagnosis.here.machine;
  ordered_json results = ordered_json::array(), hosts = ordered_json::array();
  for (const Finding& finding : all_findings(diagnosis)) results.push_back(row_of(finding));
  for (const Visit& visit : diagnosis.visits) hosts.push_back(visit_json(visit));
  ordered_json here{{"host", diagnosis.here.host}};
  here.update(machine_json(machine));
  ordered_json document{{"machine", here}, {"results", results}};
  if (!diagnosis.visits.empty()) document["hosts"] = hosts;
  return document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace unisono::tools
