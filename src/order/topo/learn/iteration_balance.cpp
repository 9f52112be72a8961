// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/topo/learn/iteration_balance.hpp"

#include <algorithm>
#include <utility>

#include "order/topo/learn/iteration_learner.hpp"

namespace unisono::order {

void IterationBalance::answered(const Response& response) {
  strange_ |= !response.error.ok() || !response.absent.empty() || !plannable(response.tensors) ||
              seen_.size() + slots_seen_ > kTopoUnitsMax * 16;
  if (strange_) {
    seen_.clear();                      // names that never come back would pile up here
    return;
  }
  for (std::size_t i = 0; i < response.tensors.size(); ++i) count(response, i);
}

void IterationBalance::count(const Response& response, std::size_t index) {
  const Request& tensor = response.tensors[index];
  const std::uint64_t signature = signature_of(tensor, rows_of(response, index));
  const TopoPlan::Place* place = plan_ != nullptr ? plan_->find(tensor.name) : nullptr;
  if (place == nullptr) {
    Seen& seen = seen_.try_emplace(tensor.name, Seen{signature, 0}).first->second;
    ++seen.count;
    strange_ |= seen.signature != signature;
    return;
  }
  strange_ |= signature_of(plan_->at(*place), plan_->rows(*place)) != signature;
  const std::uint64_t before = counts_[place->slot]++;
  if (before == 0) ++slots_seen_;
  most_ = std::max(most_, before + 1);
  if (before == least_ && --at_least_ == 0) find_spread();
}

void IterationBalance::watch(std::shared_ptr<const TopoPlan> plan) {
  plan_ = std::move(plan);
  counts_.assign(plan_->slots(), 0);
  for (auto it = seen_.begin(); it != seen_.end();) {
    const TopoPlan::Place* place = plan_->find(it->first);
    if (place == nullptr) {
      ++it;
      continue;
    }
    strange_ |= signature_of(plan_->at(*place), plan_->rows(*place)) != it->second.signature;
    counts_[place->slot] = it->second.count;
    ++slots_seen_;
    it = seen_.erase(it);
  }
  find_spread();
}

void IterationBalance::find_spread() {
  const auto [least, most] = std::minmax_element(counts_.begin(), counts_.end());
  least_ = *least;
  most_ = *most;
  at_least_ = static_cast<std::size_t>(std::count(counts_.begin(), counts_.end(), least_));
}

}  // namespace unisono::order
