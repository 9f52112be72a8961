// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The vector kernels behind pick.hpp, dispatched at run time to the best instructions this CPU has.
// Each computes as many leading elements, or buckets, as it can, and says how many: none where the
// CPU has no vectors. Thread: any; no state.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/pick/pick.hpp"

namespace unisono::kernels::simd {

// What compacting has come to: elements looked at, elements taken (those beyond the capacity too),
// and how many equal to the cut may still be taken.
struct Compacted {
  std::size_t done = 0, taken = 0, equal = 0;
};
Compacted compact(const float* values, std::size_t count, Cut cut, std::uint32_t base,
                  std::uint32_t* indices, float* picked, std::size_t capacity);
Compacted compact_with_feedback(float* residual, const float* gradient, std::size_t count, Cut cut,
                                std::uint32_t base, std::uint32_t* indices, float* picked,
                                std::size_t capacity);

// Adds to bins[(magnitude >> shift) & 1023] for each element whose magnitude >> (shift + 10) is
// prefix.
std::size_t count_matching(const float* values, std::size_t count, int shift, std::uint32_t prefix,
                           std::uint32_t* bins);

// Of buckets of length elements; bucket b begins stride elements after b - 1. gradient: null, or
// added to values first. clear: picks become 0 in values.
struct Buckets {
  float* values = nullptr;  // read alone where there is neither gradient nor clear
  const float* gradient = nullptr;
  bool clear = false;
  std::size_t length = 0, count = 0, picks = 0;
};
std::size_t top_of_buckets(const Buckets& buckets, std::uint32_t base, std::uint32_t* indices,
                           float* picked);

}  // namespace unisono::kernels::simd
