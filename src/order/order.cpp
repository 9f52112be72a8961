// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/order.hpp"

namespace unisono {
namespace {

struct StrategyRow {
  std::string_view name;
  std::unique_ptr<Order> (*make)(Members, OrderSettings);
};
constexpr StrategyRow kStrategies[] = {
    {"coordinator", make_coordinator},
};

}  // namespace

std::unique_ptr<Order> make_order(std::string_view name, Members members, OrderSettings settings) {
  for (const StrategyRow& row : kStrategies) {
    if (row.name == name) return row.make(std::move(members), settings);
  }
  return nullptr;
}

}  // namespace unisono
