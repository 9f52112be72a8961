// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "observe/straggler.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "base/data/text.hpp"

namespace unisono::observe {
namespace {
constexpr Nanos kNoise = std::chrono::milliseconds(1);
}

SlowRank find_slow_rank(std::span<const RankWait> waits) {
  std::vector<Nanos> means;
  SlowRank slow;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    if (waits[i].tensors == 0) continue;
    means.push_back(waits[i].mean);
    if (slow.rank < 0 || waits[i].mean < waits[static_cast<std::size_t>(slow.rank)].mean) {
      slow.rank = static_cast<Rank>(i);
    }
  }
  if (means.size() < 2) return {};
  // With two ranks the other one is the median.
  const auto middle = means.begin() + static_cast<std::ptrdiff_t>(means.size() / 2);
  std::nth_element(means.begin(), middle, means.end());
  slow.late = *middle - waits[static_cast<std::size_t>(slow.rank)].mean;
  slow.tensors = waits[static_cast<std::size_t>(slow.rank)].tensors;
  if (slow.late < kNoise || slow.late < *middle / 10) return {};
  return slow;
}

std::string verdict_sentence(const SlowRank& slow, const std::string& who) {
  if (slow.rank < 0) return "no rank stands out";
  char late[32];
  std::snprintf(late, sizeof late, "%.1f", static_cast<double>(slow.late.count()) * 1e-6);
  return cat("the others wait for ", who, ": its tensors come ", late,
             " ms after the median rank's (mean of the last ", slow.tensors, ")");
}

}  // namespace unisono::observe
