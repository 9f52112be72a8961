// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/topo/learn/iteration_balance.hpp"

#include <algorithm>

#include "order/topo/learn/iteration_learner.hpp"

namespace unisono::order {

void IterationBalance::restart() {
  seen_.clear();
  strange_ = false;
}

void IterationBalance::answered(const Response& response) {
  strange_ |= !response.error.ok() || !response.absent.empty() || !plannable(response.tensors) ||
              seen_.size() > kTopoUnitsMax * 16;
  if (strange_) {
    seen_.clear();                      // names that never come back would pile up here
    return;
  }
  for (std::size_t i = 0; i < response.tensors.size(); ++i) {
    const Request& tensor = response.tensors[i];
    const std::uint64_t signature = signature_of(tensor, rows_of(response, i));
    Seen& seen = seen_.try_emplace(tensor.name, Seen{signature, 0}).first->second;
    ++seen.count;
    strange_ |= seen.signature != signature;
  }
}

IterationBalance::Spread IterationBalance::spread(const TopoPlan& plan) const {
  Spread spread{UINT64_MAX, 0};
  for (std::size_t b = 0; b < plan.size(); ++b) {
    for (const Request& request : plan.bucket(b)) {
      const auto it = seen_.find(request.name);
      const std::uint64_t count = it == seen_.end() ? 0 : it->second.count;
      spread.least = std::min(spread.least, count);
      spread.most = std::max(spread.most, count);
    }
  }
  return spread;
}

bool IterationBalance::fits(const TopoPlan& plan) const {
  if (strange_) return false;
  for (const auto& [name, seen] : seen_) {
    const TopoPlan::Place* place = plan.find(name);
    if (place == nullptr) continue;
    if (signature_of(plan.at(*place), plan.rows(*place)) != seen.signature) return false;
  }
  const Spread counts = spread(plan);
  return counts.most - counts.least <= 1;
}

bool IterationBalance::level(const TopoPlan& plan) const {
  const Spread counts = spread(plan);
  return counts.most == counts.least;
}

}  // namespace unisono::order
