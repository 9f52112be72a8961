// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Examines other hosts: their doctors run there, and the way to each is tried and measured from
// here. A host that does not answer costs a limited time and gives one row. Thread: one; no other
// may run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "doctor/finding.hpp"
#include "doctor/hosts/compare.hpp"
#include "doctor/hosts/remote_report.hpp"
#include "doctor/settings.hpp"
#include "doctor/traffic.hpp"

namespace unisono::tools {

struct Visit {
  std::string host;                    // as it was named
  std::optional<RemoteReport> report;  // nothing when it could not be reached
  std::vector<Finding> findings;       // what is wrong there, and all about the way to it
  std::optional<Skew> skew;
  std::optional<Traffic> traffic;
  std::vector<Reached> addresses;  // without their sockets
};

// Hosts are examined side by side and measured one after the other.
std::vector<Visit> visit_hosts(const DoctorSettings& settings, const Progress& progress);

}  // namespace unisono::tools
