// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/peers/straggler_report.hpp"

#include <utility>

namespace unisono::engine {

std::optional<observe::SlowRank> StragglerReport::judge(const observe::RankWait& own) {
  heard(0, own);
  // Ranks beat at their own times: a report that just missed this beat is in the one before.
  std::vector<observe::RankWait> latest = waits_;
  for (std::size_t i = 0; i < latest.size(); ++i) {
    if (latest[i].tensors == 0) latest[i] = earlier_[i];
  }
  earlier_ = std::exchange(waits_, std::vector<observe::RankWait>(waits_.size()));
  if (own.tensors == 0) return std::nullopt;
  return observe::find_slow_rank(latest);
}

bool StragglerReport::is_news(const observe::SlowRank& verdict) {
  return std::exchange(named_, verdict.rank) != verdict.rank;
}

}  // namespace unisono::engine
