// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How two values of a sparse stream become one: an operator of our own, or one that the user
// brings. A user's must be associative, is applied in member order, and has a neutral element,
// which is what an absent element counts as.
// Thread: any; the functions of a user's operator are called from whichever thread reduces.
#pragma once

#include <cstddef>
#include <cstdint>

#include "unisono/sparse.hpp"
#include "unisono/types.hpp"

namespace unisono::kernels {

using UserOperator = SparseOperator;

struct Operator {
  ReduceOp op = ReduceOp::sum;              // average counts as sum; of no user
  const UserOperator* user = nullptr;       // outlives whatever has the operator

  // Whether sums on the way are float32 (wants_partials). A user's operator sees its own dtype.
  bool has_partials(DType dtype) const;
  // In which type sums on the way are kept.
  DType working_dtype(DType dtype) const { return has_partials(dtype) ? DType::f32 : dtype; }
  // What the members compare: the same for the same operator.
  std::uint64_t fingerprint() const;
};

// As kernels::reduce() and kernels::fill_neutral().
void combine(DType dtype, const Operator& op, void* accumulator, const void* other,
             std::size_t count);
void fill_absent(DType dtype, const Operator& op, void* out, std::size_t count);

}  // namespace unisono::kernels
