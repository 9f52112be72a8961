// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/order.hpp"

#include <array>

#include "model/options/choices.hpp"
#include "order/graph/collective_order.hpp"
#include "order/pacing/pacing.hpp"
#include "order/program/program.hpp"
#include "order/switch/switchable.hpp"
#include "order/topo/topo.hpp"

namespace unisono::order {
namespace {

constexpr std::array kOrders = {
    registry_row<MakeOrder>(kOrderChoices, "coordinator", make_coordinator),
    registry_row<MakeOrder>(kOrderChoices, "tree", make_tree),
    registry_row<MakeOrder>(kOrderChoices, "cache", make_cache),
    registry_row<MakeOrder>(kOrderChoices, "topo", make_topo),
    registry_row<MakeOrder>(kOrderChoices, "auto", make_auto),
    registry_row<MakeOrder>(kOrderChoices, "program", make_program),
};
static_assert(all_have_rows(kOrderChoices, kOrders));

std::unique_ptr<Order> make_paced(std::string_view name, Members members, OrderSettings settings) {
  const std::size_t mark = name.find('#');
  const OrderRow* row = find_row(kOrders, name.substr(0, mark));
  const PacingRow* pacing = find_pacing(settings.pacing);
  if (row == nullptr || pacing == nullptr) return nullptr;
  if (mark != std::string_view::npos) {
    if (row->name != "topo" || settings.graphs == nullptr) return nullptr;
    settings.given = settings.graphs->find(name.substr(mark + 1));
    if (settings.given == nullptr) return nullptr;
  }
  // Where nobody is asked there is nothing to pace.
  if (row->name == "program") return row->make(std::move(members), std::move(settings));
  OrderSettings unpaced = settings;
  unpaced.pacing = "event";
  return pacing->make(row->make(members, std::move(unpaced)), members, settings);
}

}  // namespace

std::span<const OrderRow> order_table() { return kOrders; }

std::unique_ptr<Order> make_order(std::string_view name, Members members, OrderSettings settings) {
  return make_switchable(name, std::move(members), std::move(settings), make_paced);
}

}  // namespace unisono::order
