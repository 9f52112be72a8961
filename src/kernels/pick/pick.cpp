// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/pick/pick.hpp"

#include "base/check.hpp"
#include "kernels/pick/pick_reference.hpp"

namespace unisono::kernels {

Cut cut_of_largest(const float* values, std::size_t count, std::size_t k) {
  UNISONO_CHECK(k >= 1 && k <= count && count <= UINT32_MAX);
  return reference::cut_of_largest(values, count, k);
}

std::size_t compact(const float* values, std::size_t count, Cut cut, std::uint32_t base,
                    std::uint32_t* indices, float* picked, std::size_t capacity) {
  UNISONO_CHECK(count <= UINT32_MAX);
  return reference::compact(values, count, cut, base, indices, picked, capacity);
}

std::size_t compact_with_feedback(float* residual, const float* gradient, std::size_t count,
                                  Cut cut, std::uint32_t base, std::uint32_t* indices,
                                  float* picked, std::size_t capacity) {
  UNISONO_CHECK(count <= UINT32_MAX);
  return reference::compact_with_feedback(residual, gradient, count, cut, base, indices, picked,
                                          capacity);
}

void top_of_buckets(const float* values, std::size_t count, std::size_t bucket, std::size_t k,
                    std::uint32_t base, std::uint32_t* indices, float* picked) {
  UNISONO_CHECK(k >= 1 && k <= bucket && bucket <= kPickBucketMax && count <= UINT32_MAX);
  reference::top_of_buckets(values, count, bucket, k, base, indices, picked);
}

void top_of_buckets_with_feedback(float* residual, const float* gradient, std::size_t count,
                                  std::size_t bucket, std::size_t k, std::uint32_t base,
                                  std::uint32_t* indices, float* picked) {
  UNISONO_CHECK(k >= 1 && k <= bucket && bucket <= kPickBucketMax && count <= UINT32_MAX);
  reference::top_of_buckets_with_feedback(residual, gradient, count, bucket, k, base, indices,
                                          picked);
}

}  // namespace unisono::kernels
