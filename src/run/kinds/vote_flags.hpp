// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How a member's vote travels at the end of a fused buffer: one element for "run_then_stop" and one
// for "abort", written so that the reduction itself answers whether any member said so. Pure.
// With 8-bit integers a sum of more than 255 flags would wrap; such tensors are not planned.
#pragma once

#include <cstddef>

#include "kernels/kernels.hpp"
#include "model/response.hpp"

namespace unisono::run {

inline constexpr std::size_t kVoteFlags = 2;

// Sums, averages and the like find a 1 among zeros; products, minima and "and" find a 0 among ones.
inline bool flag_is_zero(ReduceOp op) {
  return op == ReduceOp::product || op == ReduceOp::min || op == ReduceOp::logical_and;
}

inline void put_vote(PlanVote vote, DType dtype, ReduceOp op, std::byte* out) {
  const float said = flag_is_zero(op) ? 0.0F : 1.0F;
  const float flags[kVoteFlags] = {vote == PlanVote::run_then_stop ? said : 1.0F - said,
                                     vote == PlanVote::abort ? said : 1.0F - said};
  kernels::cast(dtype, out, DType::f32, flags, kVoteFlags);
}

inline PlanVote get_vote(DType dtype, ReduceOp op, const std::byte* in) {
  float flags[kVoteFlags];
  kernels::cast(DType::f32, flags, dtype, in, kVoteFlags);
  const auto said = [&](float flag) { return flag_is_zero(op) ? flag == 0.0F : flag != 0.0F; };
  if (said(flags[1])) return PlanVote::abort;
  return said(flags[0]) ? PlanVote::run_then_stop : PlanVote::run;
}

}  // namespace unisono::run
