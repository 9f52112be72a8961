// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "opt/exchange/registry.hpp"

#include <algorithm>
#include <cmath>

#include "opt/job/text.hpp"

namespace unisono::opt {
namespace {

constexpr ExchangeRow kExchanges[] = {
    {"dense", "an allreduce of the whole vector, zeros included", make_dense},
    {"allgather", "every rank gets the pairs of all others and adds them in their order",
     make_gather},
    {"sparse", "the engine's sparse allreduce, by the algorithm that should take the least time",
     [](Engine& engine, std::uint32_t length) { return make_sparse(engine, length, ""); }},
    {"ssar_recursive_double", "the same by recursive doubling: short vectors",
     [](Engine& engine, std::uint32_t length) {
       return make_sparse(engine, length, "ssar_recursive_double");
     }},
    {"ssar_split_allgather", "the same by owners of slices, whose sums are gathered sparse",
     [](Engine& engine, std::uint32_t length) {
       return make_sparse(engine, length, "ssar_split_allgather");
     }},
    {"dsar_split_allgather", "the same with sums that are gathered dense",
     [](Engine& engine, std::uint32_t length) {
       return make_sparse(engine, length, "dsar_split_allgather");
     }},
    {"sparse_ring", "the same around a ring",
     [](Engine& engine, std::uint32_t length) {
       return make_sparse(engine, length, "sparse_ring");
     }},
};

}  // namespace

std::span<const ExchangeRow> exchange_rows() { return kExchanges; }

std::vector<std::string> exchange_names() {
  std::vector<std::string> names{"auto"};
  for (const ExchangeRow& row : kExchanges) names.emplace_back(row.name);
  return names;
}

std::string_view cheapest_exchange(int ranks, std::uint32_t length, double nonzeros) {
  // A rank receives the pairs of all others; or twice its share of the elements; or, where owners
  // add up slices, its share of all pairs (about 6 bytes each on the wire) and what the others own
  // of the sum, in which as many indices differ as of uniformly spread ones.
  const double shares = static_cast<double>(ranks - 1) / ranks;
  const double pairs = 8.0 * nonzeros * (ranks - 1);
  const double elements = 2 * 4.0 * length * shares;
  const double there = length == 0 ? 0 : length * (1 - std::pow(1 - nonzeros / length, ranks));
  const double owned = shares * (6.0 * nonzeros + std::min(6.0 * there, 4.0 * length));
  if (owned < pairs && owned < elements) return "sparse";
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
