// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The vector kernels come first; the scalar reference computes what they leave.
#include "kernels/pick/pick.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "kernels/pick/pick_reference.hpp"
#include "kernels/pick/pick_simd.hpp"

namespace unisono::kernels {

std::size_t compact(const float* values, std::size_t count, Cut cut, std::uint32_t base,
                    std::uint32_t* indices, float* picked, std::size_t capacity) {
  UNISONO_CHECK(count <= UINT32_MAX);
  const simd::Compacted first = simd::compact(values, count, cut, base, indices, picked, capacity);
  const std::size_t put = std::min(first.taken, capacity);
  return first.taken + reference::compact(values + first.done, count - first.done,
                                          {cut.magnitude, first.equal},
                                          base + static_cast<std::uint32_t>(first.done),
                                          indices + put, picked + put, capacity - put);
}

std::size_t compact_with_feedback(float* residual, const float* gradient, std::size_t count,
                                  Cut cut, std::uint32_t base, std::uint32_t* indices,
                                  float* picked, std::size_t capacity) {
  UNISONO_CHECK(count <= UINT32_MAX);
  const simd::Compacted first =
      simd::compact_with_feedback(residual, gradient, count, cut, base, indices, picked, capacity);
  const std::size_t put = std::min(first.taken, capacity);
  return first.taken +
         reference::compact_with_feedback(residual + first.done,
                                          gradient == nullptr ? nullptr : gradient + first.done,
                                          count - first.done, {cut.magnitude, first.equal},
                                          base + static_cast<std::uint32_t>(first.done),
                                          indices + put, picked + put, capacity - put);
}

namespace {

// All whole buckets by vectors, and then the shorter one as a bucket of its own.
bool top_by_vectors(simd::Buckets all, std::size_t count, std::size_t k, std::uint32_t base,
                    std::uint32_t* indices, float* picked) {
  const std::size_t bucket = all.length, rest = count % bucket;
  all.count = count / bucket;
  all.picks = k;
  if (simd::top_of_buckets(all, base, indices, picked) != all.count) return false;
  if (rest == 0) return true;
  const std::size_t done = count - rest, put = all.count * k;
  simd::Buckets last = all;
  last.values += done;
  if (last.gradient != nullptr) last.gradient += done;
  last.length = rest;
  last.count = 1;
  last.picks = picks_of_bucket(rest, bucket, k);
  return simd::top_of_buckets(last, base + static_cast<std::uint32_t>(done), indices + put,
                              picked + put) == 1;
}

}  // namespace

void top_of_buckets(const float* values, std::size_t count, std::size_t bucket, std::size_t k,
                    std::uint32_t base, std::uint32_t* indices, float* picked) {
  UNISONO_CHECK(k >= 1 && k <= bucket && bucket <= kPickBucketMax && count <= UINT32_MAX);
  simd::Buckets all;
  all.values = const_cast<float*>(values);  // is read alone, as there is nothing to add or clear
  all.length = bucket;
  if (top_by_vectors(all, count, k, base, indices, picked)) return;
  reference::top_of_buckets(values, count, bucket, k, base, indices, picked);
}

void top_of_buckets_with_feedback(float* residual, const float* gradient, std::size_t count,
                                  std::size_t bucket, std::size_t k, std::uint32_t base,
                                  std::uint32_t* indices, float* picked) {
  UNISONO_CHECK(k >= 1 && k <= bucket && bucket <= kPickBucketMax && count <= UINT32_MAX);
  simd::Buckets all;
  all.values = residual;
  all.gradient = gradient;
  all.clear = true;
  all.length = bucket;
  if (top_by_vectors(all, count, k, base, indices, picked)) return;
  reference::top_of_buckets_with_feedback(residual, gradient, count, bucket, k, base, indices,
                                          picked);
}

}  // namespace unisono::kernels
