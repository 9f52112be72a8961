// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What a trace says in a few lines: steps, buckets and their sizes, who came last, time on the
// wire. Pure.
#pragma once

#include <map>
#include <string>

#include "trace/recording.hpp"
#include "trace/sizes.hpp"
#include "trace/steps.hpp"

namespace unisono::tools {

struct TimeSpread {
  double median_us = 0, p90_us = 0, max_us = 0, sum_us = 0;
};

struct Summary {
  std::map<int, ClockRecord> ranks;
  Result<Steps> steps = Status(Code::invalid_argument, "");
  std::uint64_t buckets = 0;                // of all sets; each counts once, on however many ranks
  std::uint64_t tensors = 0, bytes = 0;     // in them
  SizeHistogram sizes;
  std::uint64_t shared = 0;                 // buckets that two ranks or more have recorded
  TimeSpread skew;                              // of those: from the first rank ready to the last
  std::map<int, std::uint64_t> last;        // how often each rank was the last one
  TimeSpread negotiation;                       // from a rank's readiness until all had agreed
  TimeSpread wire;                              // from the last rank's beginning to its end
  std::uint64_t missed = 0;
};

Summary summarize(const Recording& recording);
std::string summary_text(const std::string& path, const Summary& summary);
std::string summary_json(const std::string& path, const Summary& summary);

}  // namespace unisono::tools
