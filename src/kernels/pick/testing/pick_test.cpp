// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What picking promises, and that vectors change nothing of it. Arrays have exactly the size that
// is promised, so that a sanitiser sees an access beyond them.
#include "kernels/pick/pick.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <set>
#include <vector>

#include "base/data/rng.hpp"
#include "kernels/pick/pick_reference.hpp"

namespace unisono::kernels {
namespace {

struct Picks {
  std::size_t taken = 0;
  std::vector<std::uint32_t> indices, bits;  // bits of the values, so that NaN equals itself
  std::vector<std::uint32_t> residual;
  bool operator==(const Picks&) const = default;
};

std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<std::uint32_t> out(values.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::bit_cast<std::uint32_t>(values[i]);
  return out;
}

template <class Compact>
Picks picks_by(Compact call, const std::vector<float>& values, Cut cut, std::uint32_t base,
               std::size_t capacity) {
  Picks out;
  std::vector<std::uint32_t> indices(capacity);
  std::vector<float> picked(capacity);
  out.taken =
      call(values.data(), values.size(), cut, base, indices.data(), picked.data(), capacity);
  indices.resize(std::min(out.taken, capacity));
  picked.resize(std::min(out.taken, capacity));
  out.indices = indices;
  out.bits = bits_of(picked);
  return out;
}

template <class Compact>
Picks fed_picks_by(Compact call, std::vector<float> residual, const float* gradient, Cut cut,
                   std::uint32_t base, std::size_t capacity) {
  const auto feed = [&](const float*, std::size_t count, Cut at, std::uint32_t from,
                        std::uint32_t* indices, float* picked, std::size_t room) {
    return call(residual.data(), gradient, count, at, from, indices, picked, room);
  };
  Picks out = picks_by(feed, residual, cut, base, capacity);
  out.residual = bits_of(residual);
  return out;
}

enum class Spread { smooth, ties, zeros, equal, denormals, any_bits };
constexpr Spread kSpreads[] = {Spread::smooth, Spread::ties,      Spread::zeros,
                               Spread::equal,  Spread::denormals, Spread::any_bits};

std::vector<float> spread(Spread kind, std::size_t count, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<float> out(count);
  for (float& value : out) {
    const auto bits = static_cast<std::uint32_t>(rng());
    const std::uint32_t sign = bits & kF32Sign;
    switch (kind) {
      case Spread::smooth:
        value = static_cast<float>(rng.uniform() + rng.uniform() + rng.uniform() - 1.5);
        break;
      case Spread::ties:
        value = std::bit_cast<float>(sign | 0x3F800000u | (bits & 3) << 20);
        break;
      case Spread::zeros:
        value = std::bit_cast<float>(sign);
        break;
      case Spread::equal:
        value = std::bit_cast<float>(sign | 0x3E99999Au);
        break;
      case Spread::denormals:
        value = std::bit_cast<float>(sign | (bits & 0xFFu));
        break;
      // NaN with and without quiet bit, infinities: one exponent in eight is the last.
      case Spread::any_bits:
        value = std::bit_cast<float>(bits | (rng.below(8) == 0 ? kF32Infinity : 0));
        break;
    }
  }
  return out;
}

// Which NaN the sum of two is, is the hardware's choice; so only the residual has some.
std::vector<float> spread_gradient(Spread kind, std::size_t count, std::uint64_t seed) {
  std::vector<float> out = spread(kind, count, seed);
  for (float& value : out) value = value == value ? value : 1.0f;
  return out;
}

const std::vector<std::size_t> kLengths = {0,  1,  2,   3,   4,   5,   15,  16,   17,   31,  33,
                                           63, 64, 100, 511, 512, 513, 700, 1024, 4096, 5001};

TEST(Compact, TakesWhatTheReferenceTakes) {
  for (const Spread kind : kSpreads) {
    for (const std::size_t count : kLengths) {
      const std::vector<float> values = spread(kind, count, count + 1);
      for (const std::size_t k : {std::size_t{1}, count / 100 + 1, count / 3 + 1, count}) {
        if (k == 0 || k > count) continue;
        const Cut exact = reference::cut_of_largest(values.data(), count, k);
        for (const Cut cut : {exact, Cut{exact.magnitude}, Cut{exact.magnitude, 0},
                              Cut{exact.magnitude, 3}, Cut{-exact.magnitude, 20}}) {
          SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << ", count "
                                          << count << ", k " << k << ", equal " << cut.equal);
          const std::size_t all = picks_by(reference::compact, values, cut, 0, 0).taken;
          for (const std::size_t capacity : {all, all / 2, std::size_t{0}, all + 100}) {
            EXPECT_TRUE(picks_by(compact, values, cut, 70, capacity) ==
                        picks_by(reference::compact, values, cut, 70, capacity))
                << capacity;
          }
        }
      }
    }
  }
}

TEST(Compact, FeedbackKeepsWhatDidNotGoOut) {
  for (const Spread kind : kSpreads) {
    for (const std::size_t count : kLengths) {
      if (count == 0) continue;
      const std::vector<float> residual = spread(kind, count, count + 1);
      const std::vector<float> gradient = spread_gradient(kind, count, count + 2);
      std::vector<float> sum(count);
      for (std::size_t i = 0; i < count; ++i) sum[i] = residual[i] + gradient[i];
      for (const float* fed : {gradient.data(), static_cast<const float*>(nullptr)}) {
        for (const std::size_t k : {count / 100 + 1, count / 3 + 1}) {
          const float* from = fed != nullptr ? sum.data() : residual.data();
          const Cut exact = reference::cut_of_largest(from, count, std::min(k, count));
          for (const Cut cut : {exact, Cut{exact.magnitude}, Cut{exact.magnitude, 0}}) {
            for (const std::size_t capacity : {count, k / 2, std::size_t{0}}) {
              SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << ", count "
                                              << count << ", k " << k << ", capacity " << capacity);
              const Picks wanted =
                  fed_picks_by(reference::compact_with_feedback, residual, fed, cut, 70, capacity);
              EXPECT_TRUE(fed_picks_by(compact_with_feedback, residual, fed, cut, 70, capacity) ==
                          wanted);
            }
          }
        }
      }
    }
  }
}

TEST(Compact, WhatFindsNoRoomStaysInTheResidual) {
  std::vector<float> residual = {1, -9, 2, 8, 7};
  const std::vector<float> gradient = {0, -1, 0, 1, 1};
  std::vector<std::uint32_t> indices(2);
  std::vector<float> picked(2);
  EXPECT_EQ(compact_with_feedback(residual.data(), gradient.data(), 5, {5}, 100, indices.data(),
                                  picked.data(), 2),
            3u);
  EXPECT_EQ(indices, (std::vector<std::uint32_t>{101, 103}));
  EXPECT_EQ(picked, (std::vector<float>{-10, 9}));
  EXPECT_EQ(residual, (std::vector<float>{1, 0, 2, 0, 8}));
}

TEST(CutOfLargest, IsThatOfTheSortedMagnitudes) {
  for (const Spread kind : kSpreads) {
    for (const std::size_t count : kLengths) {
      const std::vector<float> values = spread(kind, count, count + 7);
      for (const std::size_t k :
           {std::size_t{1}, std::size_t{2}, count / 100 + 1, count / 2, count - 1, count}) {
        if (k == 0 || k > count) continue;
        const Cut wanted = reference::cut_of_largest(values.data(), count, k);
        const Cut found = cut_of_largest(values.data(), count, k);
        EXPECT_EQ(std::bit_cast<std::uint32_t>(found.magnitude),
                  std::bit_cast<std::uint32_t>(wanted.magnitude))
            << static_cast<int>(kind) << " " << count << " " << k;
        EXPECT_EQ(found.equal, wanted.equal) << static_cast<int>(kind) << " " << count << " " << k;
        EXPECT_EQ(picks_by(compact, values, found, 0, k).taken, k);
      }
    }
  }
}

TEST(CutOfLargest, TellsNeighbouringNumbersApart) {
  // All differ in their last bits only.
  std::vector<float> values(3000);
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    values[i] = std::bit_cast<float>(0x3F8FFC00u + i * 7919u % 3000u);
  }
  for (const std::size_t k : {1u, 2u, 10u, 1500u, 2999u, 3000u}) {
    const Cut cut = cut_of_largest(values.data(), values.size(), k);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(cut.magnitude), 0x3F8FFC00u + 3000u - k);
    EXPECT_EQ(cut.equal, 1u);
  }
}

TEST(TopOfBuckets, TakesWhatTheReferenceTakes) {
  for (const Spread kind : kSpreads) {
    for (const std::size_t count : kLengths) {
      const std::vector<float> values = spread(kind, count, count + 3);
      for (const std::size_t bucket : {1u, 7u, 64u, 100u, 512u, 4096u}) {
        for (const std::size_t k : {1u, 2u, 4u, 5u, 16u, 17u, 40u, 64u}) {
          if (k > bucket) continue;
          SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << ", count "
                                          << count << ", bucket " << bucket << ", k " << k);
          const std::size_t picks = bucket_picks(count, bucket, k);
          std::vector<std::uint32_t> indices(picks), wanted(picks);
          std::vector<float> picked(picks), wanted_values(picks);
          reference::top_of_buckets(values.data(), count, bucket, k, 9, wanted.data(),
                                    wanted_values.data());
          top_of_buckets(values.data(), count, bucket, k, 9, indices.data(), picked.data());
          ASSERT_EQ(indices, wanted);
          ASSERT_EQ(bits_of(picked), bits_of(wanted_values));

          const std::vector<float> gradient = spread_gradient(kind, count, count + 4);
          std::vector<float> residual = values, wanted_residual = values;
          reference::top_of_buckets_with_feedback(wanted_residual.data(), gradient.data(), count,
                                                  bucket, k, 9, wanted.data(),
                                                  wanted_values.data());
          top_of_buckets_with_feedback(residual.data(), gradient.data(), count, bucket, k, 9,
                                       indices.data(), picked.data());
          ASSERT_EQ(indices, wanted);
          ASSERT_EQ(bits_of(picked), bits_of(wanted_values));
          ASSERT_EQ(bits_of(residual), bits_of(wanted_residual));
        }
      }
    }
  }
}

TEST(TopOfBuckets, TheLowestIndexWinsAmongEqualMagnitudes) {
  std::vector<float> values(1024, 0.5f);
  values[700] = -0.5f;
  values[800] = -2.0f;
  std::vector<std::uint32_t> indices(6);
  std::vector<float> picked(6);
  top_of_buckets(values.data(), values.size(), 512, 3, 0, indices.data(), picked.data());
  EXPECT_EQ(indices, (std::vector<std::uint32_t>{0, 1, 2, 512, 513, 800}));
  EXPECT_EQ(picked, (std::vector<float>{0.5f, 0.5f, 0.5f, 0.5f, 0.5f, -2.0f}));
}

TEST(TopOfBuckets, AShorterLastBucketGivesItsShareAndAtLeastOne) {
  EXPECT_EQ(bucket_picks(0, 512, 4), 0u);
  EXPECT_EQ(bucket_picks(1, 512, 4), 1u);
  EXPECT_EQ(bucket_picks(128, 512, 4), 1u);
  EXPECT_EQ(bucket_picks(129, 512, 4), 2u);
  EXPECT_EQ(bucket_picks(512, 512, 4), 4u);
  EXPECT_EQ(bucket_picks(1025, 512, 4), 9u);
  EXPECT_EQ(bucket_picks(3, 4096, 4096), 3u);
}

TEST(Pick, NanAndInfinityAreAboveAllNumbers) {
  std::vector<float> values(512, 3.0f);
  values[300] = std::numeric_limits<float>::quiet_NaN();
  values[400] = -std::numeric_limits<float>::infinity();
  const Cut cut = cut_of_largest(values.data(), values.size(), 2);
  EXPECT_EQ(cut.magnitude, std::numeric_limits<float>::infinity());
  std::vector<std::uint32_t> indices(2);
  std::vector<float> picked(2);
  top_of_buckets(values.data(), values.size(), 512, 2, 0, indices.data(), picked.data());
  EXPECT_EQ(indices, (std::vector<std::uint32_t>{300, 400}));
}

TEST(Pick, TakesAnyAddress) {
  const std::size_t count = 1111;
  const std::vector<float> values = spread(Spread::smooth, count, 6);
  std::vector<std::byte> shifted(count * 4 + 1), indices(9 * 4 + 1), picked(9 * 4 + 1);
  std::memcpy(shifted.data() + 1, values.data(), count * 4);
  const auto* from = reinterpret_cast<const float*>(shifted.data() + 1);
  auto* const to = reinterpret_cast<std::uint32_t*>(indices.data() + 1);
  auto* const out = reinterpret_cast<float*>(picked.data() + 1);
  std::vector<std::uint32_t> wanted(9);
  std::vector<float> wanted_values(9);
  reference::top_of_buckets(values.data(), count, 512, 4, 5, wanted.data(), wanted_values.data());
  top_of_buckets(from, count, 512, 4, 5, to, out);
  EXPECT_EQ(0, std::memcmp(to, wanted.data(), 36));
  EXPECT_EQ(0, std::memcmp(out, wanted_values.data(), 36));
  const Cut cut = cut_of_largest(from, count, 9);
  reference::compact(values.data(), count, cut, 5, wanted.data(), wanted_values.data(), 9);
  EXPECT_EQ(compact(from, count, cut, 5, to, out, 9), 9u);
  EXPECT_EQ(0, std::memcmp(to, wanted.data(), 36));
  EXPECT_EQ(0, std::memcmp(out, wanted_values.data(), 36));
}

}  // namespace
}  // namespace unisono::kernels
