// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The results of `unisono bench codec` as a table for people and as JSON for scripts. Pure.
#pragma once

#include <string>
#include <vector>

#include "bench/codec/measure.hpp"
#include "bench/machine.hpp"

namespace unisono::tools {

std::string codec_table(const CodecBenchSettings& settings, const Machine& machine,
                        const std::vector<CodecBenchRow>& rows);
std::string codec_json(const CodecBenchSettings& settings, const Machine& machine,
                       const std::vector<CodecBenchRow>& rows);

}  // namespace unisono::tools
