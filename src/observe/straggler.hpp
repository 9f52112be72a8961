// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Finds the slow rank. In a collective all ranks take equally long by the clock; the one that waits
// least for the others is the one that they wait for. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/clock.hpp"
#include "unisono/types.hpp"

namespace unisono::observe {

// A rank's report on the last interval: the time from a submission until all ranks were ready.
struct RankWait {
  std::uint64_t tensors = 0;
  Nanos mean{0};
};

struct SlowRank {
  Rank rank = -1;                           // -1: nobody stands out
  Nanos late{0};                            // compared with the median rank
  std::uint64_t tensors = 0;

  friend bool operator==(const SlowRank&, const SlowRank&) = default;
};

// `waits` is by rank; ranks that moved nothing are left out. Differences below a millisecond, or
// below a tenth of what the median rank waits, are noise.
SlowRank find_slow_rank(std::span<const RankWait> waits);
// Returns one sentence for people; `who` names the rank.
std::string verdict_sentence(const SlowRank& slow, const std::string& who);

}  // namespace unisono::observe
