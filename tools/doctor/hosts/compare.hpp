// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What only shows when hosts are compared: clocks, versions, the ways between them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doctor/checks/software.hpp"
#include "doctor/finding.hpp"
#include "doctor/traffic.hpp"
#include "text_table.hpp"

namespace unisono::tools {

// One question for another host's wall clock; all three as nanoseconds since 1970.
struct ClockSample {
  std::int64_t asked_ns = 0, theirs_ns = 0, answered_ns = 0;
};
struct Skew {
  double ahead_s = 0;  // of this machine's clock
  double bound_s = 0;  // the true value is not farther away than this
};
// From the sample with the shortest round trip; nothing without samples.
std::optional<Skew> skew_of(const std::vector<ClockSample>& samples);
Finding judge_skew(const std::string& host, const Skew& skew);

// < 0, 0, > 0; numbers in the texts are compared as numbers: 1.9 is before 1.10.
int compare_versions(std::string_view a, std::string_view b);

using HostVersions = std::vector<std::pair<std::string, Versions>>;  // by host
// A row for each name whose version is not the same everywhere; empty when there is none.
TextTable version_table(const HostVersions& hosts);
// Rows for differences that matter to a job.
std::vector<Finding> judge_versions(const HostVersions& hosts);

// tried: the addresses of a host, the one that jobs would use first.
Finding judge_way(const std::string& host, const std::vector<Reached>& tried);
Finding judge_way_speed(const std::string& host, const Result<Traffic>& measured);

}  // namespace unisono::tools
