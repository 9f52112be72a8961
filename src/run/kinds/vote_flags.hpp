// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How a member's vote travels at the end of a fused buffer: one element for each vote but "run",
// written so that the reduction itself answers whether any member said so. Pure.
// With 8-bit integers a sum of more than 255 flags would wrap; such tensors are not planned.
#pragma once

#include <cstddef>

#include "kernels/kernels.hpp"
#include "model/response.hpp"

namespace unisono::run {

inline constexpr std::size_t kVoteFlags = static_cast<std::size_t>(PlanVote::abort);

// Sums, averages and the like find a 1 among zeros; products, minima and "and" find a 0 among ones.
inline bool flag_is_zero(ReduceOp op) {
  return op == ReduceOp::product || op == ReduceOp::min || op == ReduceOp::logical_and;
}

inline void put_vote(PlanVote vote, DType dtype, ReduceOp op, std::byte* out) {
  const float said = flag_is_zero(op) ? 0.0F : 1.0F;
  float flags[kVoteFlags];
  for (std::size_t i = 0; i < kVoteFlags; ++i) {
    flags[i] = static_cast<std::size_t>(vote) == i + 1 ? said : 1.0F - said;
  }
  kernels::cast(dtype, out, DType::f32, flags, kVoteFlags);
}

// The strongest vote of any member.
inline PlanVote get_vote(DType dtype, ReduceOp op, const std::byte* in) {
  float flags[kVoteFlags];
  kernels::cast(DType::f32, flags, dtype, in, kVoteFlags);
  for (std::size_t i = kVoteFlags; i > 0; --i) {
    const bool said = flag_is_zero(op) ? flags[i - 1] == 0.0F : flags[i - 1] != 0.0F;
    if (said) return static_cast<PlanVote>(i);
  }
  return PlanVote::run;
}

}  // namespace unisono::run
