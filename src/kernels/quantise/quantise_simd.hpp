// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The vector kernels behind quantise.hpp, dispatched at run time to the best instructions this CPU
// has. They compute whole buckets; callers fill a shorter one up with zeros. Each says whether it
// has computed anything: false where the CPU has no vectors. Thread: any; no state.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/quantise/quantise.hpp"

namespace unisono::kernels::simd {

bool quantise(int bits, const QuantiseKey* key, std::uint64_t first, const float* values,
              std::size_t buckets, float* scales, std::byte* codes);
bool quantise_fp8(DType format, const float* values, std::size_t buckets, float* scales,
                  std::byte* codes);
// add: onto what out holds.
bool dequantise(int bits, const float* scales, const std::byte* codes, std::size_t buckets,
                bool add, float* out);
bool dequantise_fp8(DType format, const float* scales, const std::byte* codes, std::size_t buckets,
                    bool add, float* out);

// The bits of the largest magnitude among the leading elements, and how many those are.
struct LeadingMagnitude {
  std::uint32_t largest = 0;
  std::size_t count = 0;
};
LeadingMagnitude largest_magnitude(const float* values, std::size_t count);

}  // namespace unisono::kernels::simd
