// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/topo/plan_slots.hpp"

#include <algorithm>

namespace unisono::order {

PlanSlots::PlanSlots(std::shared_ptr<const TopoPlan> plan)
    : plan_(std::move(plan)), turns_(plan_->slots(), 0), filled_at_(plan_->slots()),
      given_at_(plan_->slots()) {
  for (std::size_t b = 0; b < plan_->size(); ++b) {
    missing_.push_back(static_cast<std::uint32_t>(plan_->bucket(b).size()));
  }
}

bool PlanSlots::fill(const Request& request, std::uint64_t turn, Time now) {
  const TopoPlan::Place* place = plan_->find(request.name);
  if (place == nullptr || turns_[place->slot] != 0) return false;
  if (!same_operation(request, plan_->at(*place))) return false;
  turns_[place->slot] = turn;
  filled_at_[place->slot] = now;
  --missing_[place->bucket];
  ++filled_;
  return true;
}

const Request& PlanSlots::first_missing() const {
  const std::size_t b = next_ % plan_->size();
  const auto first = turns_.begin() + plan_->first_slot(b);
  const auto empty = std::find(first, first + static_cast<std::ptrdiff_t>(plan_->bucket(b).size()),
                               std::uint64_t{0});
  return plan_->bucket(b)[static_cast<std::size_t>(empty - first)];
}

const std::vector<Request>& PlanSlots::give_out() {
  const std::size_t b = next_++ % plan_->size();
  const auto first = turns_.begin() + plan_->first_slot(b);
  const auto last = first + static_cast<std::ptrdiff_t>(plan_->bucket(b).size());
  given_.emplace_back(first, last);
  const auto filled = filled_at_.begin() + plan_->first_slot(b);
  std::copy(filled, filled + (last - first), given_at_.begin() + plan_->first_slot(b));
  std::fill(first, last, 0);
  const auto size = static_cast<std::uint32_t>(plan_->bucket(b).size());
  filled_ -= size - missing_[b];
  missing_[b] = size;
  return plan_->bucket(b);
}

void PlanSlots::collect(std::size_t bucket, const std::uint64_t* turns,
                        std::vector<std::pair<std::uint64_t, Request>>& out) const {
  for (const Request& request : plan_->bucket(bucket)) {
    if (*turns != 0) out.emplace_back(*turns, request);
    ++turns;
  }
}

std::vector<std::pair<std::uint64_t, Request>> PlanSlots::drain_unanswered() {
  std::vector<std::pair<std::uint64_t, Request>> out;
  for (std::size_t b = 0; b < plan_->size(); ++b) {
    collect(b, turns_.data() + plan_->first_slot(b), out);
  }
  return out;
}

std::vector<std::pair<std::uint64_t, Request>> PlanSlots::drain() {
  auto out = drain_unanswered();
  std::uint64_t position = oldest();
  for (const Turns& turns : given_) collect(position++ % plan_->size(), turns.data(), out);
  return out;
}

}  // namespace unisono::order
