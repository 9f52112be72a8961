// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A strategy that can be replaced while requests are in flight.
//
// A request of kind switch_order named "unisono.order/<strategy>" is agreed on by the strategy that
// runs. After the round that answers it every member takes back what is not answered and submits it
// to the new strategy. The response goes out like any other, so that its ticket resolves; it
// carries an error when the strategy is unknown.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "order/order.hpp"

namespace unisono::order {

inline constexpr std::string_view kSwitchPrefix = "unisono.order/";

// Null when the name is unknown.
using StrategyFactory =
    std::function<std::unique_ptr<Order>(std::string_view name, Members, OrderSettings)>;

// Null when `name` is unknown to `make`.
std::unique_ptr<Order> make_switchable(std::string_view name, Members members,
                                       OrderSettings settings, StrategyFactory make);

}  // namespace unisono::order
