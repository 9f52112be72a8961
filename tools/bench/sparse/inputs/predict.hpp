// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the closed forms of cost/ say of a case: bytes that a rank sends, and time. Pure; thread:
// any.
#pragma once

#include <string>

#include "cost/sparse_algorithms.hpp"
#include "unisono/types.hpp"

namespace unisono::tools {

// Where the ranks are and what joins them, as an engine tells it.
struct PredictedNetwork {
  cost::Layout layout;
  cost::Costs costs;
};

struct Predicted {
  double bytes = 0;                         // of one rank, on average
  double us = 0;
};

struct PredictedVector {
  std::uint64_t length = 0, nnz = 0;
  DType dtype = DType::f32;
  int gather_bits = 0;                      // of each sum in a dense gather; 0: all
};

// Nothing for a name that has no closed form.
Predicted predicted_sparse(const std::string& algorithm, const PredictedVector& vector,
                           const cost::UnionCount& count, const PredictedNetwork& network);
Predicted predicted_dense(const std::string& algorithm, const PredictedVector& vector,
                          const PredictedNetwork& network);

}  // namespace unisono::tools
