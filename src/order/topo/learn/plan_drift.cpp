// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/topo/learn/plan_drift.hpp"

#include <algorithm>

namespace unisono::order {
namespace {

// Which algorithm carries a bucket follows from trials, whose costs are the same either way.
bool same_methods(const IterationMethods& a, const IterationMethods& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const MethodChoice& one, const MethodChoice& other) {
                      return one.method.codec == other.method.codec &&
                             one.method.channel == other.method.channel;
                    });
}

}  // namespace

PlanDrift::PlanDrift(ArrangedIteration arranged, std::vector<std::uint32_t> unit_of,
                     DriftRules rules)
    : arranged_(std::move(arranged)), unit_of_(std::move(unit_of)), rules_(rules),
      left_(rules.iterations_min), between_(rules.watched) {}

bool PlanDrift::passed(std::span<const Time> submitted) {
  if (left_ > 0) {
    --left_;
    return false;
  }
  const Time begin = *std::min_element(submitted.begin(), submitted.end());
  auto& row = rows_.emplace_back(arranged_.graph.units.size(), 0);
  for (std::size_t slot = 0; slot < submitted.size(); ++slot) {
    std::int64_t& ready = row[unit_of_[slot]];  // a group is ready with its last tensor
    ready = std::max<std::int64_t>(ready, (submitted[slot] - begin).count());
  }
  if (rows_.size() < rules_.watched) return false;
  for (std::size_t unit = 0; unit < arranged_.graph.units.size(); ++unit) {
    std::vector<std::int64_t> ready;
    for (const auto& each : rows_) ready.push_back(each[unit]);
    const auto middle = ready.begin() + static_cast<std::ptrdiff_t>(ready.size() / 2);
    std::nth_element(ready.begin(), middle, ready.end());
    arranged_.graph.units[unit].ready_ns = *middle;
  }
  rows_.clear();
  if (promises_more()) {
    between_ = rules_.watched;
    return ++in_a_row_ >= rules_.in_a_row;
  }
  in_a_row_ = 0;
  left_ = between_;
  between_ = std::min(2 * between_, kBetweenMax);
  return false;
}

bool PlanDrift::promises_more() const {
  const IterationArranger& arranger = *arranged_.arranger;
  const IterationBuckets best = arranger.arrange(arranged_.graph);
  if (!fault_of(arranged_.graph, best).empty()) return false;
  const IterationMethods methods = arranger.methods(arranged_.graph, best);
  if (best == arranged_.buckets && same_methods(methods, arranged_.methods)) return false;
  return arranger.finish_s(arranged_.graph, arranged_.buckets, arranged_.methods) >
         rules_.worth_it * arranger.finish_s(arranged_.graph, best, methods);
}

}  // namespace unisono::order
