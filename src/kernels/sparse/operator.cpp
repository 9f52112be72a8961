// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/sparse/operator.hpp"

#include "base/data/hash.hpp"
#include "kernels/kernels.hpp"

namespace unisono::kernels {

bool Operator::has_partials(DType dtype) const {
  return user == nullptr && wants_partials(dtype, op);
}

std::uint64_t Operator::fingerprint() const {
  if (user != nullptr) return hash_text(user->name, 1);
  return static_cast<std::uint64_t>(op == ReduceOp::average ? ReduceOp::sum : op);
}

void combine(DType dtype, const Operator& op, void* accumulator, const void* other,
             std::size_t count) {
  if (count == 0) return;
  if (op.user != nullptr) return op.user->combine(accumulator, other, count);
  reduce(dtype, op.op, accumulator, other, count);
}

void fill_absent(DType dtype, const Operator& op, void* out, std::size_t count) {
  if (count == 0) return;
  if (op.user != nullptr) return op.user->fill_neutral(out, count);
  fill_neutral(dtype, op.op, out, count);
}

}  // namespace unisono::kernels
