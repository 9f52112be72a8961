// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The cut of the k largest, by histograms of the bits of the magnitudes: of the leading 11 over all
// elements, then of the next 10 and the last 10 over those that share the bits found so far. Three
// passes that only read, and no memory beside the counters.
#include <array>
#include <cstring>

#include "base/check.hpp"
#include "kernels/pick/pick_reference.hpp"
#include "kernels/pick/pick_simd.hpp"

namespace unisono::kernels {

namespace {

constexpr int kLeadingShift = 20;
constexpr std::size_t kLeadingBins = 1u << 11;
constexpr std::size_t kNextBins = 1u << 10;
// Neighbours count in turn in tables of their own: counting waits for the count before it where two
// elements share a bin.
constexpr std::size_t kTables = 4;

using LeadingTables = std::array<std::array<std::uint32_t, kLeadingBins>, kTables>;

std::uint32_t bits_at(const float* values, std::size_t i) {
  std::uint32_t bits;
  std::memcpy(&bits, reinterpret_cast<const std::byte*>(values) + i * sizeof bits, sizeof bits);
  return bits & ~kF32Sign;
}

void count_leading_bits(const float* values, std::size_t count, LeadingTables& tables) {
  static_assert(kTables == 4);
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    std::uint64_t pairs[2];  // half as many loads
    std::memcpy(pairs, reinterpret_cast<const std::byte*>(values) + i * sizeof(float),
                sizeof pairs);
    constexpr std::uint64_t mask = kLeadingBins - 1;
    ++tables[0][(pairs[0] >> kLeadingShift) & mask];
    ++tables[1][(pairs[0] >> (32 + kLeadingShift)) & mask];
    ++tables[2][(pairs[1] >> kLeadingShift) & mask];
    ++tables[3][(pairs[1] >> (32 + kLeadingShift)) & mask];
  }
  for (; i < count; ++i) ++tables[0][bits_at(values, i) >> kLeadingShift];
  for (std::size_t t = 1; t < kTables; ++t) {
    for (std::size_t b = 0; b < kLeadingBins; ++b) tables[0][b] += tables[t][b];
  }
}

// The bin that holds the k-th largest, counted from above; k becomes its rank in that bin.
template <std::size_t kBins>
std::uint32_t bin_of_rank(const std::array<std::uint32_t, kBins>& bins, std::size_t& k) {
  std::size_t b = kBins - 1;
  for (; b > 0 && bins[b] < k; --b) k -= bins[b];
  return static_cast<std::uint32_t>(b);
}

// Ten more bits below prefix.
std::uint32_t refine(const float* values, std::size_t count, int shift, std::uint32_t prefix,
                     std::size_t& k) {
  std::array<std::uint32_t, kNextBins> bins{};
  std::size_t i = simd::count_matching(values, count, shift, prefix, bins.data());
  for (; i < count; ++i) {
    const std::uint32_t bits = bits_at(values, i);
    if (bits >> (shift + 10) == prefix) ++bins[(bits >> shift) & (kNextBins - 1)];
  }
  return prefix << 10 | bin_of_rank(bins, k);
}

}  // namespace

Cut cut_of_largest(const float* values, std::size_t count, std::size_t k) {
  UNISONO_CHECK(k >= 1 && k <= count && count <= UINT32_MAX);
  std::uint32_t prefix = 0;
  {
    LeadingTables tables{};
    count_leading_bits(values, count, tables);
    prefix = bin_of_rank(tables[0], k);
  }
  prefix = refine(values, count, 10, prefix, k);
  prefix = refine(values, count, 0, prefix, k);
  return {std::bit_cast<float>(prefix), k};
}

}  // namespace unisono::kernels
