// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/topo/plans/plan_library.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace unisono::order {
namespace {

bool share_a_tensor(const TopoPlan& a, const TopoPlan& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (const Request& request : a.bucket(i)) {
      if (b.find(request.name) != nullptr) return true;
    }
  }
  return false;
}

std::shared_ptr<const std::vector<KnownBucket>> methods_of(
    const TopoPlan& plan, const std::vector<std::string>& reasons) {
  auto buckets = std::make_shared<std::vector<KnownBucket>>();
  for (std::size_t b = 0; b < plan.size(); ++b) {
    KnownBucket& known = buckets->emplace_back();
    known.first = plan.bucket(b).front().name;
    known.tensors = plan.bucket(b).size();
    for (const Request& request : plan.bucket(b)) known.bytes += request.bytes();
    known.method = plan.method(b);
    if (b < reasons.size()) known.reason = reasons[b];
  }
  return buckets;
}

}  // namespace

Plans PlanLibrary::plans() const {
  Plans plans;
  for (const Entry& entry : entries_) plans.push_back(entry.plan);
  return plans;
}

std::vector<std::shared_ptr<PlanDrift>> PlanLibrary::drifts() const {
  std::vector<std::shared_ptr<PlanDrift>> drifts;
  for (const Entry& entry : entries_) drifts.push_back(entry.drift);
  return drifts;
}

void PlanLibrary::add(std::shared_ptr<const TopoPlan> plan, std::shared_ptr<PlanDrift> drift,
                      std::vector<std::string> reasons) {
  std::erase_if(entries_, [&](const Entry& entry) { return share_a_tensor(*entry.plan, *plan); });
  if (entries_.size() == max_) {
    entries_.erase(std::min_element(
        entries_.begin(), entries_.end(),
        [](const Entry& a, const Entry& b) { return a.last_used < b.last_used; }));
  }
  entries_.push_back({std::move(plan), std::move(drift), std::move(reasons), 0, ++clock_});
}

void PlanLibrary::drop(const TopoPlan& plan) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.plan.get() == &plan; });
}

void PlanLibrary::ran(const PlanSlots& slots) {
  UNISONO_CHECK(slots.plans() == entries_.size());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (slots.iterations(i) == 0) continue;
    entries_[i].iterations += slots.iterations(i);
    entries_[i].last_used = clock_ + slots.last_iteration(i);
  }
  clock_ += slots.iterations();
}

std::vector<KnownPlan> PlanLibrary::report(const PlanSlots* running) const {
  std::vector<KnownPlan> plans;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if (entry.methods == nullptr) entry.methods = methods_of(*entry.plan, entry.reasons);
    plans.push_back({.first = entry.plan->bucket(0).front().name,
                     .tensors = entry.plan->slots(),
                     .buckets = entry.plan->size(),
                     .iterations = entry.iterations +
                                   (running != nullptr ? running->iterations(i) : 0),
                     .methods = entry.methods});
  }
  return plans;
}

}  // namespace unisono::order
