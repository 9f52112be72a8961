// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The exchanges by name. Thread: any.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "opt/exchange/exchange.hpp"

namespace unisono::opt {

struct ExchangeRow {
  std::string_view name;
  std::string_view about;
  std::unique_ptr<Exchange> (*make)(Engine& engine, std::uint32_t length);
};
std::span<const ExchangeRow> exchange_rows();
// Those and `auto`.
std::vector<std::string> exchange_names();

std::unique_ptr<Exchange> make_dense(Engine& engine, std::uint32_t length);
std::unique_ptr<Exchange> make_gather(Engine& engine, std::uint32_t length);
// algorithm: one of the engine's, a text that lives for ever; "" = the engine chooses.
std::unique_ptr<Exchange> make_sparse(Engine& engine, std::uint32_t length,
                                      std::string_view algorithm);

// Which exchange `auto` is for vectors of `length` with so many non-zeros on each of `ranks`: the
// one with fewer bytes through each rank. Pure, so ranks that agree on the figures agree on the
// name.
std::string_view cheapest_exchange(int ranks, std::uint32_t length, double nonzeros);

// `nonzeros` is what all ranks expect alike. invalid_argument: there is none of the name.
Result<std::unique_ptr<Exchange>> make_exchange(Engine& engine, std::string_view name,
                                                std::uint32_t length, double nonzeros);

}  // namespace unisono::opt
