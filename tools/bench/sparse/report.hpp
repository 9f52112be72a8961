// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The results of `unisono bench sparse` as a table for people, as JSON for scripts, and as a
// picture with a line for each algorithm. Pure; the picture is a complete SVG document.
#pragma once

#include <string>

#include "bench/machine.hpp"
#include "bench/sparse/results.hpp"
#include "bench/sparse/settings.hpp"

namespace unisono::tools {

std::string sparse_table(const SparseBenchSettings& settings, const Machine& machine,
                         const SparseBenchResults& results);
std::string sparse_json(const SparseBenchSettings& settings, const Machine& machine,
                        const SparseBenchResults& results);
// Over density where there are several, else over size.
std::string sparse_svg(const Machine& machine, const SparseBenchResults& results);

}  // namespace unisono::tools
