// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Who is slow. A collective makes all ranks equally slow by the clock; the one that waits least for
// the others is the one they wait for. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/clock.hpp"
#include "unisono/types.hpp"

namespace unisono::observe {

// What a rank says about the last while: from submitting a tensor until all ranks were there.
struct RankWait {
  std::uint64_t tensors = 0;
  Nanos mean{0};
};

struct SlowRank {
  Rank rank = -1;                           // -1: nobody stands out
  Nanos late{0};                            // against the median rank
  std::uint64_t tensors = 0;

  friend bool operator==(const SlowRank&, const SlowRank&) = default;
};

// By rank; ranks that moved nothing are left out. Differences below a millisecond, or below a tenth
// of what the median rank waits, are noise.
SlowRank find_slow_rank(std::span<const RankWait> waits);
// One sentence for people; `who` is how the rank is called.
std::string verdict_sentence(const SlowRank& slow, const std::string& who);

}  // namespace unisono::observe
