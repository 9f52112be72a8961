// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/command.hpp"

#include <csignal>
#include <fstream>
#include <iostream>
#include <utility>

#include "processes/interrupt.hpp"
#include "doctor/arguments.hpp"
#include "doctor/checks/examine.hpp"
#include "doctor/hosts/serve.hpp"
#include "doctor/hosts/visit.hpp"
#include "doctor/costs.hpp"
#include "doctor/report.hpp"
#include "exit_codes.hpp"
#include "progress_bar.hpp"

namespace unisono::tools {
namespace {

int deliver_diagnosis(const DoctorSettings& settings, const Diagnosis& diagnosis) {
  std::cout << (settings.json == "-" ? diagnosis_json(diagnosis) : diagnosis_text(diagnosis))
            << std::flush;
  if (!settings.json.empty() && settings.json != "-") {
    std::ofstream file(settings.json);
    file << diagnosis_json(diagnosis);
    if (!file.flush()) {
      std::cerr << "unisono doctor: cannot write " << settings.json << "\n";
      return kJobFailed;
    }
  }
  return lacks_something(diagnosis) ? kMachineLacks : kSuccess;
}

// The medians of what was measured.
MeasuredCosts costs_of(const Diagnosis& diagnosis) {
  MeasuredCosts costs;
  std::vector<double> rates, trips;
  for (const Visit& visit : diagnosis.visits) {
    if (!visit.traffic) continue;
    costs.hosts.push_back(visit.host);
    rates.push_back(visit.traffic->gb_per_s);
    trips.push_back(visit.traffic->round_trip_us);
  }
  costs.wire = {median_of(rates), median_of(trips)};
  costs.loopback = diagnosis.here.speed.loopback;
  costs.copy_gb_per_s = diagnosis.here.speed.copy_gb_per_s;
  return costs;
}

}  // namespace

int doctor_command(std::vector<std::string> arguments) {
  const DoctorArguments parsed = parse_doctor_arguments(std::move(arguments));
  if (parsed.exit_code >= 0) return parsed.exit_code;
  const DoctorSettings& settings = parsed.settings;
  // A shell that has ended, and a pager that was left, are seen by the calls that write to them.
  std::signal(SIGPIPE, SIG_IGN);
  if (settings.serve) return serve_as_doctor();
  watch_for_interrupt();
  ProgressBar bar(!settings.quiet);
  const double here = settings.hosts.empty() ? 1 : 0.2;  // the share of all the work
  Diagnosis diagnosis;
  diagnosis.here = examine_this_machine(
      [&](double done, const std::string& now) { bar.show(done * here, now); });
  diagnosis.visits = visit_hosts(settings, [&](double done, const std::string& now) {
    bar.show(here + done * (1 - here), now);
  });
  bar.clear();
  if (interrupted() != 0) return kSignalBase + interrupted();
  if (!settings.costs.empty()) {
    if (Status bad = write_costs(settings.costs, costs_of(diagnosis)); !bad.ok()) {
      std::cerr << "unisono doctor: " << bad.message() << "\n";
      return kJobFailed;
    }
    std::cerr << "unisono doctor: costs are in " << settings.costs << "\n";
  }
  return deliver_diagnosis(settings, diagnosis);
}

}  // namespace unisono::tools
