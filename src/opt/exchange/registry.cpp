// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "opt/exchange/registry.hpp"

#include "opt/job/text.hpp"

namespace unisono::opt {
namespace {

constexpr ExchangeRow kExchanges[] = {
    {"dense", "an allreduce of the whole vector, zeros included", make_dense},
    {"allgather", "every rank gets the pairs of all others and adds them in their order",
     make_gather},
};

}  // namespace

std::span<const ExchangeRow> exchange_rows() { return kExchanges; }

std::vector<std::string> exchange_names() {
  std::vector<std::string> names{"auto"};
  for (const ExchangeRow& row : kExchanges) names.emplace_back(row.name);
  return names;
}

std::string_view cheapest_exchange(int ranks, std::uint32_t length, double nonzeros) {
  // A rank receives the pairs of all others, or twice its share of the elements.
  const double pairs = 8.0 * nonzeros * (ranks - 1);
  const double elements = 2 * 4.0 * length * (ranks - 1) / ranks;
  return pairs <= elements ? "allgather" : "dense";
}

Result<std::unique_ptr<Exchange>> make_exchange(Engine& engine, std::string_view name,
                                                std::uint32_t length, double nonzeros) {
  if (name == "auto") name = cheapest_exchange(engine.size(), length, nonzeros);
  for (const ExchangeRow& row : kExchanges) {
    if (row.name == name) return row.make(engine, length);
  }
  std::string known;
  for (const std::string& each : exchange_names()) known += (known.empty() ? "" : ", ") + each;
  return wrong("there is no exchange \"", name, "\"; one of ", known);
}

}  // namespace unisono::opt
