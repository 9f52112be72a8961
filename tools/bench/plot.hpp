// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The results as a picture: bytes against median time, both logarithmic, one line per contender.
// Pure; the text is a complete SVG document.
#pragma once

#include <string>

#include "bench/machine.hpp"
#include "bench/measure.hpp"

namespace unisono::tools {

std::string plot_svg(const BenchSettings& settings, const Machine& machine,
                     const Measurement& measured);

}  // namespace unisono::tools
