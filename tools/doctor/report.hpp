// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the doctor found, as text for people and as JSON for scripts. Pure.
#pragma once

#include <string>
#include <vector>

#include "doctor/checks/examine.hpp"
#include "doctor/finding.hpp"
#include "doctor/hosts/visit.hpp"

namespace unisono::tools {

struct Diagnosis {
  Examination here;
  std::vector<Visit> visits;
};

// This machine first, then the hosts that answered.
HostVersions versions_of(const Diagnosis& diagnosis);
// All rows: of this machine, of the other hosts, and of the hosts compared.
std::vector<Finding> all_findings(const Diagnosis& diagnosis);
bool lacks_something(const Diagnosis& diagnosis);

std::string diagnosis_text(const Diagnosis& diagnosis);
std::string diagnosis_json(const Diagnosis& diagnosis);

}  // namespace unisono::tools
