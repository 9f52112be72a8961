// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The largest of every bucket. Columns of every 32nd element have their maxima found first; as k of
// those are elements, the k-th largest of them is a floor under the k-th largest element, and only
// few elements are above it. Those are collected, and cut exactly where they are more than k.
#include "kernels/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pick/buckets_simd.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "kernels/pick/pick_reference.hpp"
#include "kernels/pick/pick_simd.hpp"
#include "kernels/pick/pick_vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace unisono::kernels::HWY_NAMESPACE {

#if UNISONO_HAS_VECTORS

constexpr std::size_t kColumns = 32;
constexpr std::size_t kColumnVectors = kColumns / kWidth;

// A magnitude that at least k elements reach. The maxima are taken off from the largest down, equal
// ones at once; length is a multiple of kWord.
HWY_INLINE std::int32_t floor_of_largest(const float* values, std::size_t length, std::size_t k) {
  const DI32 d;
  if (k > kColumns) return 0;
  LanesI32 columns[kColumnVectors];
  for (std::size_t v = 0; v < kColumnVectors; ++v) columns[v] = hn::Zero(d);
  for (std::size_t i = 0; i < length; i += kColumns) {
    for (std::size_t v = 0; v < kColumnVectors; ++v) {
      columns[v] = hn::Max(columns[v], magnitudes(load_vector(d, values + i + v * kWidth)));
    }
  }
  std::int32_t floor = 0;
  for (std::size_t n = 0; n < k; ++n) {
    LanesI32 largest = columns[0];
    for (std::size_t v = 1; v < kColumnVectors; ++v) largest = hn::Max(largest, columns[v]);
    largest = hn::MaxOfLanes(d, largest);
    const std::int32_t found = hn::GetLane(largest);
    if (found < 0) break;
    floor = found;
    for (std::size_t v = 0; v < kColumnVectors; ++v) {
      const auto same = hn::Eq(columns[v], largest);
      columns[v] = hn::IfThenElse(same, hn::Set(d, -1), columns[v]);
    }
  }
  return floor;
}

// The elements of a bucket that may be picked, in order.
struct Candidates {
  std::size_t count = 0;
  std::uint32_t places[kPickBucketMax];
  std::uint32_t magnitudes[kPickBucketMax];
};

// The cut that takes k of the candidates, all of which reach floor.
Cut cut_of_candidates(const Candidates& candidates, std::uint32_t floor, std::size_t k) {
  std::uint32_t above[kPickBucketMax];
  std::size_t n = 0;
  for (std::size_t c = 0; c < candidates.count; ++c) {
    above[n] = candidates.magnitudes[c];
    n += candidates.magnitudes[c] > floor ? 1 : 0;
  }
  if (n <= k) return {std::bit_cast<float>(floor), k - n};
  std::nth_element(above, above + k - 1, above + n, std::greater<>());
  const std::uint32_t last = above[k - 1];
  const auto larger = std::count_if(above, above + k, [&](std::uint32_t m) { return m > last; });
  return {std::bit_cast<float>(last), k - static_cast<std::size_t>(larger)};
}

HWY_INLINE void collect(const float* values, std::size_t length, std::int32_t floor,
                        Candidates& to) {
  const LanesI32 below = hn::Set(DI32(), floor - 1);
  std::size_t n = 0;
  for (std::size_t i = 0; i < length; i += kWord) {
    std::uint64_t word = word_above(values + i, below);
    for (; word != 0; word &= word - 1, ++n) {
      const std::size_t at = i + static_cast<std::size_t>(std::countr_zero(word));
      to.places[n] = static_cast<std::uint32_t>(at);
      to.magnitudes[n] = magnitude_of(read_at(values, at));
    }
  }
  to.count = n;
}

// values: a bucket filled up with zeros to whole words; those come last and are never picked, as
// there are k elements before them. clear_in: null, or where picks become 0.
HWY_INLINE void top_of_bucket(const float* values, std::size_t length, std::size_t k,
                              float* clear_in, std::uint32_t base, std::uint32_t* indices,
                              float* picked, Candidates& candidates) {
  const std::int32_t floor = floor_of_largest(values, length, k);
  collect(values, length, floor, candidates);
  const auto put = [&](std::size_t n, std::uint32_t place) {
    write_at(indices, n, base + place);
    write_at(picked, n, read_at(values, place));
    if (clear_in != nullptr) write_at(clear_in, place, 0.0f);
  };
  if (candidates.count == k) {
    for (std::size_t n = 0; n < k; ++n) put(n, candidates.places[n]);
    return;
  }
  const Cut cut = cut_of_candidates(candidates, static_cast<std::uint32_t>(floor), k);
  const std::uint32_t last = magnitude_of(cut.magnitude);
  std::size_t equal = cut.equal;
  for (std::size_t c = 0, n = 0; n < k; ++c) {
    const std::uint32_t magnitude = candidates.magnitudes[c];
    if (magnitude < last || (magnitude == last && equal == 0)) continue;
    if (magnitude == last) --equal;
    put(n++, candidates.places[c]);
  }
}

HWY_INLINE void add_whole_words(float* values, const float* gradient, std::size_t length) {
  for (std::size_t i = 0; i < length; i += kWidth) {
    store_vector(hn::Add(load_vector(DF32(), values + i), load_vector(DF32(), gradient + i)),
                 DF32(), values + i);
  }
}

std::size_t top_of_all_buckets(const simd::Buckets& buckets, std::uint32_t base,
                               std::uint32_t* indices, float* picked) {
  const std::size_t length = buckets.length, padded = (length + kWord - 1) / kWord * kWord;
  Candidates candidates;
  alignas(64) float copy[kPickBucketMax];
  alignas(64) float copied_gradient[kPickBucketMax];
  if (padded != length) {
    std::fill(copy + length, copy + padded, 0.0f);
    std::fill(copied_gradient + length, copied_gradient + padded, 0.0f);
  }
  for (std::size_t b = 0; b < buckets.count; ++b) {
    float* const values = buckets.values + b * length;
    float* work = values;
    const float* gradient = buckets.gradient;
    if (gradient != nullptr) gradient += b * length;
    if (padded != length) {
      work = copy;
      std::memcpy(copy, values, length * sizeof(float));
      if (gradient != nullptr) {
        std::memcpy(copied_gradient, gradient, length * sizeof(float));
        gradient = copied_gradient;
      }
    }
    if (gradient != nullptr) {
      add_whole_words(work, gradient, padded);
      if (work != values) std::memcpy(values, work, length * sizeof(float));
    }
    const auto first = static_cast<std::uint32_t>(b * length);
    top_of_bucket(work, padded, buckets.picks, buckets.clear ? values : nullptr, base + first,
                  indices + b * buckets.picks, picked + b * buckets.picks, candidates);
  }
  return buckets.count;
}

#else

std::size_t top_of_all_buckets(const simd::Buckets&, std::uint32_t, std::uint32_t*, float*) {
  return 0;
}

#endif  // UNISONO_HAS_VECTORS

}  // namespace unisono::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unisono::kernels {
namespace {
HWY_EXPORT(top_of_all_buckets);
}

std::size_t simd::top_of_buckets(const Buckets& buckets, std::uint32_t base, std::uint32_t* indices,
                                 float* picked) {
  return HWY_DYNAMIC_DISPATCH(top_of_all_buckets)(buckets, base, indices, picked);
}
}  // namespace unisono::kernels
#endif
