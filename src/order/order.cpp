// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/order.hpp"

#include "order/pacing/lockstep.hpp"
#include "order/switch/switchable.hpp"
#include "order/topo/topo.hpp"

namespace unisono::order {
namespace {

struct StrategyRow {
  std::string_view name;
  std::unique_ptr<Order> (*make)(Members, OrderSettings);
};
constexpr StrategyRow kStrategies[] = {
    {"coordinator", make_coordinator},
    {"tree", make_tree},
    {"cache", make_cache},
    {"topo", make_topo},
    {"auto", make_auto},
};

std::unique_ptr<Order> make_paced(std::string_view name, Members members, OrderSettings settings) {
  const PacingRow* pacing = find_pacing(settings.pacing);
  if (pacing == nullptr) return nullptr;
  if (pacing->pacing != Pacing::event) {
    OrderSettings unpaced = settings;
    unpaced.pacing = "event";
    auto strategy = make_paced(name, members, unpaced);
    return strategy ? make_lockstep(std::move(strategy), std::move(members), settings) : nullptr;
  }
  for (const StrategyRow& row : kStrategies) {
    if (row.name == name) return row.make(std::move(members), settings);
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<Order> make_order(std::string_view name, Members members, OrderSettings settings) {
  return make_switchable(name, std::move(members), std::move(settings), make_paced);
}

}  // namespace unisono::order
