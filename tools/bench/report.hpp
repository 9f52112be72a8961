// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The results as a table for people and as JSON for scripts.
#pragma once

#include <string>

#include "bench/machine.hpp"
#include "bench/measure.hpp"

namespace unisono::tools {

std::string table_text(const BenchSettings& settings, const Machine& machine,
                       const Measurement& measured);
std::string json_text(const BenchSettings& settings, const Machine& machine,
                      const Measurement& measured);
// "1.23", "45.6", "12345": three digits that matter.
std::string short_number(double value);
// 2 * ranks * bytes over the p10 time, in GB/s.
double traffic_gb_per_s(const Row& row);

}  // namespace unisono::tools
