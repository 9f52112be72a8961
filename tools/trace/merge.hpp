// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Makes one trace, or timeline, of the parts that ranks have written, on the clock of the lowest
// rank. A rank that was killed in the middle of a line loses that line alone.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trace/clocks.hpp"
#include "trace/sizes.hpp"
#include "unisono/status.hpp"

namespace unisono::tools {

struct Merged {
  std::map<int, ClockOffset> clocks;        // by rank
  std::uint64_t events = 0;
  std::uint64_t lost_lines = 0;             // torn ones
  SizeHistogram sizes;                      // of the buckets of the lowest rank
};

// Replaces `path`. At least one part can be read.
Result<Merged> merge_parts(const std::vector<std::string>& parts, const std::string& path);

}  // namespace unisono::tools
