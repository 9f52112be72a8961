// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/topo/learn/iteration_units.hpp"

#include <span>
#include <utility>

#include "base/data/hash.hpp"

namespace unisono::order {
namespace {

constexpr std::size_t kKnownMax = 1024;

}  // namespace

std::uint32_t IterationUnits::find(std::uint64_t name) const {
  if (cells_.empty()) return kNone;
  const std::size_t mask = cells_.size() - 1;
  for (std::size_t at = name & mask; cells_[at] != kNone; at = (at + 1) & mask) {
    if (names_[cells_[at]] == name) return cells_[at];
  }
  return kNone;
}

void IterationUnits::put(std::uint32_t unit) {
  const std::size_t mask = cells_.size() - 1;
  std::size_t at = names_[unit] & mask;
  while (cells_[at] != kNone) at = (at + 1) & mask;
  cells_[at] = unit;
}

void IterationUnits::add(std::uint64_t name, std::uint64_t signature) {
  const auto unit = static_cast<std::uint32_t>(size());
  names_.push_back(name);
  signatures_.push_back(signature);
  if (2 * size() <= cells_.size()) return put(unit);
  cells_.assign(cells_.empty() ? 8 : 2 * cells_.size(), kNone);
  for (std::uint32_t each = 0; each <= unit; ++each) put(each);
}

std::shared_ptr<const IterationUnits> IterationUnitsPool::share(IterationUnits units) {
  std::uint64_t key = hash_bytes(std::as_bytes(std::span(units.names())));
  key = hash_bytes(std::as_bytes(std::span(units.signatures())), key);
  const std::lock_guard lock(mutex_);
  auto& known = known_[key];
  if (auto shared = known.lock(); shared && *shared == units) return shared;
  auto fresh = std::make_shared<const IterationUnits>(std::move(units));
  known = fresh;
  if (known_.size() > kKnownMax) {
    std::erase_if(known_, [](const auto& item) { return item.second.expired(); });
  }
  return fresh;
}

}  // namespace unisono::order
