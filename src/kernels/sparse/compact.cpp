// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The elements of a segment that are there, word by word of the bitmap: most words are empty where
// the segment is sparse, and full ones are copied whole.
#include <bit>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/check.hpp"
#include "kernels/kernels.hpp"
#include "kernels/sparse/compact_simd.hpp"
#include "kernels/sparse/sparse.hpp"

namespace unisono::kernels {

namespace {

template <typename T, typename I>
std::size_t compact_words(const Accumulators& segment, std::size_t first_word, I* indices,
                          void* values, std::size_t count) {
  const auto* from = static_cast<const std::byte*>(segment.values);
  auto* to = static_cast<std::byte*>(values);
  for (std::size_t w = first_word; w < presence_words(segment.length); ++w) {
    std::uint64_t word = segment.present[w];
    const std::size_t start = w * 64;
    if (word == ~std::uint64_t{0}) {
      std::iota(indices + count, indices + count + 64, static_cast<I>(start));
      std::memcpy(to + count * sizeof(T), from + start * sizeof(T), 64 * sizeof(T));
      count += 64;
      continue;
    }
    for (; word != 0; word &= word - 1) {
      const std::size_t at = start + static_cast<std::size_t>(std::countr_zero(word));
      indices[count] = static_cast<I>(at);
      std::memcpy(to + count * sizeof(T), from + at * sizeof(T), sizeof(T));
      ++count;
    }
  }
  return count;
}

template <typename I>
std::size_t compact_as(const Accumulators& segment, std::size_t capacity, I* indices,
                       void* values) {
  switch (size_of(segment.dtype)) {
    case 1: return compact_words<std::uint8_t>(segment, 0, indices, values, 0);
    case 2: return compact_words<std::uint16_t>(segment, 0, indices, values, 0);
    case 4: {
      simd::Compacted done;
      if constexpr (sizeof(I) == 4) {
        done = simd::compact_words(segment, capacity, indices, values);
      }
      return compact_words<std::uint32_t>(segment, done.words, indices, values, done.count);
    }
    default: return compact_words<std::uint64_t>(segment, 0, indices, values, 0);
  }
}

}  // namespace

std::size_t count_present(const Accumulators& segment) {
  std::size_t count = 0;
  for (std::size_t w = 0; w < presence_words(segment.length); ++w) {
    count += static_cast<std::size_t>(std::popcount(segment.present[w]));
  }
  return count;
}

std::size_t compact(const Accumulators& segment, const PairsOut& out) {
  std::vector<float> partials;
  void* values = out.values;
  if (out.dtype != segment.dtype) {
    UNISONO_CHECK(segment.dtype == DType::f32);
    partials.resize(out.capacity);
    values = partials.data();
  }
  const std::size_t count = out.wide != nullptr
                                ? compact_as(segment, out.capacity, out.wide, values)
                                : compact_as(segment, out.capacity, out.narrow, values);
  UNISONO_CHECK(count <= out.capacity);
  if (out.dtype != segment.dtype) cast(out.dtype, out.values, DType::f32, values, count);
  return count;
}

namespace {

template <typename I>
bool increases(const I* indices, std::size_t count, std::uint64_t base, std::uint64_t limit) {
  if (indices[0] < base || indices[count - 1] < base || indices[count - 1] - base >= limit) {
    return false;
  }
  bool wrong = false;                       // no way out on the way, so that it is vectorised
  for (std::size_t i = 1; i < count; ++i) wrong |= indices[i] <= indices[i - 1];
  return !wrong;
}

}  // namespace

bool is_support(const Pairs& pairs, std::uint64_t limit) {
  if (pairs.count == 0) return true;
  if (pairs.narrow != nullptr) return increases(pairs.narrow, pairs.count, pairs.base, limit);
  return increases(pairs.wide, pairs.count, pairs.base, limit);
}

}  // namespace unisono::kernels
