// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/sparse/inputs/predict.hpp"

#include <algorithm>

#include "cost/algorithms.hpp"
#include "move/collective.hpp"
#include "move/sparse/sparse.hpp"

namespace unisono::tools {
namespace {

// Sums on the way are wider than these.
bool has_partials(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f8e4m3 ||
         dtype == DType::f8e5m2;
}

}  // namespace

Predicted predicted_sparse(const std::string& algorithm, const PredictedVector& vector,
                           const cost::UnionCount& count, const PredictedNetwork& network) {
  const auto rows = move::sparse_algorithm_table();
  const bool known = std::any_of(rows.begin(), rows.end(), [&](const move::SparseRow& row) {
    return row.name == algorithm;
  });
  if (!known || network.layout.n < 2) return {};
  cost::SparseCase what;
  what.layout = network.layout;
  what.length = vector.length;
  what.value_bytes = size_of(vector.dtype);
  what.partials = has_partials(vector.dtype);
  what.count = count;
  what.k = static_cast<double>(vector.nnz);
  what.estimates = false;                   // as in all steps but one of many
  if (vector.gather_bits > 0) {
    // And a scale for each 1,024.
    what.gathered_bytes_per_value = vector.gather_bits / 8.0 + 4.0 / 1024;
  }
  return {cost::sent_by_sparse(algorithm, what) / network.layout.n,
          1e6 * cost::predict_sparse(algorithm, what, network.costs)};
}

Predicted predicted_dense(const std::string& algorithm, const PredictedVector& vector,
                          const PredictedNetwork& network) {
  const auto rows = move::algorithm_table();
  const bool known = std::any_of(rows.begin(), rows.end(), [&](const move::AlgorithmRow& row) {
    return row.kind == Collective::allreduce && row.by == move::MovesBy::messages &&
           row.name == algorithm;
  });
  if (!known || network.layout.n < 2) return {};
  const std::size_t bytes = vector.length * size_of(vector.dtype);
  return {static_cast<double>(cost::sent_by_allreduce(algorithm, network.layout, bytes)) /
              network.layout.n,
          1e6 * cost::predict_allreduce(algorithm, network.layout, bytes, network.costs)};
}

}  // namespace unisono::tools
