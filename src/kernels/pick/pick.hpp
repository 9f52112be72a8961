// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Picks the largest elements of a float32 tensor for sparse exchange: above a threshold, the k
// largest of all, or the k largest of every bucket; alone, or with error feedback in the same pass.
// Vectorised with run-time dispatch; pick_reference.hpp is the scalar oracle.
// Any alignment, any count below 2^32 including 0. Thread: any; no state.
//
// Magnitudes are compared as the bits of |v|: denormals count as they are, -0 equals 0, infinity is
// above all numbers and NaN above infinity, so what is not finite is picked and seen by everybody.
// Among equal magnitudes the lowest index wins. Picks come in ascending order of their indices, as
// base + position and the value with its sign. Arrays do not overlap.
#pragma once

#include <cstddef>
#include <cstdint>

namespace unisono::kernels {

inline constexpr std::size_t kPickBucketMax = 4096;  // elements

// Which elements are taken: those above magnitude, and the first `equal` of those equal to it.
struct Cut {
  float magnitude = 0;
  std::size_t equal = SIZE_MAX;
};

// The cut that takes exactly the k largest of count elements; 1 <= k <= count.
Cut cut_of_largest(const float* values, std::size_t count, std::size_t k);

// Returns how many elements the cut takes; the first `capacity` of them are written. Room behind the
// last may be written to as well.
std::size_t compact(const float* values, std::size_t count, Cut cut, std::uint32_t base,
                    std::uint32_t* indices, float* picked, std::size_t capacity);

// The same for accumulated = residual + gradient, which is left in the residual except where it
// went out: there the residual is 0. What found no room stays. gradient may be null: residual
// alone.
std::size_t compact_with_feedback(float* residual, const float* gradient, std::size_t count,
                                  Cut cut, std::uint32_t base, std::uint32_t* indices,
                                  float* picked, std::size_t capacity);

// How many of a bucket's elements are picked: k of a whole one, at least one of a shorter one.
constexpr std::size_t picks_of_bucket(std::size_t length, std::size_t bucket, std::size_t k) {
  return length == bucket ? k : (k * length + bucket - 1) / bucket;
}
constexpr std::size_t bucket_picks(std::size_t count, std::size_t bucket, std::size_t k) {
  return count / bucket * k + picks_of_bucket(count % bucket, bucket, k);
}

// The k largest of every bucket: writes bucket_picks() indices and values.
// 1 <= k <= bucket <= kPickBucketMax.
void top_of_buckets(const float* values, std::size_t count, std::size_t bucket, std::size_t k,
                    std::uint32_t base, std::uint32_t* indices, float* picked);
// The same with feedback, as above.
void top_of_buckets_with_feedback(float* residual, const float* gradient, std::size_t count,
                                  std::size_t bucket, std::size_t k, std::uint32_t base,
                                  std::uint32_t* indices, float* picked);

}  // namespace unisono::kernels
