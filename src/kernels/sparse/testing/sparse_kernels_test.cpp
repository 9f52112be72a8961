// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Every kernel against its oracle, for all dtypes, operators, densities and index widths.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/data/rng.hpp"
#include "base/data/text.hpp"
#include "kernels/kernels.hpp"
#include "kernels/sparse/sparse.hpp"
#include "kernels/sparse/sparse_reference.hpp"

namespace unisono::kernels {
namespace {

struct Elements {
  std::vector<std::uint32_t> narrow;
  std::vector<std::uint64_t> wide;
  std::vector<std::byte> values;            // one byte in front, so that nothing is aligned
  Pairs pairs(DType dtype, bool is_wide, std::uint64_t base) const {
    return {.dtype = dtype, .count = narrow.size(), .narrow = is_wide ? nullptr : narrow.data(),
            .wide = is_wide ? wide.data() : nullptr, .values = values.data() + 1, .base = base};
  }
};

// About `percent` of the indices of a segment.
Elements some_elements(DType dtype, std::size_t length, unsigned percent, std::uint64_t base,
                       Rng& rng) {
  Elements out;
  for (std::size_t i = 0; i < length; ++i) {
    if (rng.below(100) >= percent) continue;
    out.narrow.push_back(static_cast<std::uint32_t>(base + i));
    out.wide.push_back(base + i);
  }
  std::vector<double> values(out.narrow.size());
  for (auto& value : values) {
    value = static_cast<double>(rng.below(64)) / (dtype < DType::i8 ? 8 : 1);
  }
  if (dtype == DType::boolean) for (auto& value : values) value = value > 9;
  out.values.resize(values.size() * size_of(dtype) + 1);
  cast(dtype, out.values.data() + 1, DType::f64, values.data(), values.size());
  return out;
}

struct Segment {
  Segment(DType dtype, std::size_t length)
      : values(length * size_of(dtype) + 1, std::byte{0x5A}), present(presence_words(length)),
        accumulators{dtype, length, values.data(), present.data()} {}
  std::vector<std::byte> values;
  std::vector<std::uint64_t> present;
  Accumulators accumulators;
};

struct Target {
  Target(DType dtype, std::size_t capacity, bool is_wide)
      : narrow(capacity + 1, 77), wide(capacity + 1, 77), values((capacity + 1) * 8, std::byte{1}),
        out{dtype, capacity, is_wide ? nullptr : narrow.data(), is_wide ? wide.data() : nullptr,
            values.data()} {}
  std::vector<std::uint32_t> narrow;
  std::vector<std::uint64_t> wide;
  std::vector<std::byte> values;
  PairsOut out;
};

void expect_same(const Target& a, const Target& b, std::size_t count) {
  EXPECT_EQ(a.narrow[a.out.capacity], 77u) << "wrote beyond its room";
  EXPECT_EQ(a.wide[a.out.capacity], 77u) << "wrote beyond its room";
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ(a.narrow[i], b.narrow[i]) << i;
    ASSERT_EQ(a.wide[i], b.wide[i]) << i;
  }
  ASSERT_EQ(std::memcmp(a.values.data(), b.values.data(), count * size_of(a.out.dtype)), 0);
}

UserOperator last_of_two() {
  return {.name = "last",
          .combine = [](void* mine, const void* other, std::size_t count) {
            std::memcpy(mine, other, count * sizeof(float));
          },
          .fill_neutral = [](void* out, std::size_t count) { std::memset(out, 0, count * 4); }};
}

void check_all(DType dtype, const Operator& op, std::size_t length, unsigned percent, bool is_wide,
               std::uint64_t base, std::uint64_t seed) {
  SCOPED_TRACE(cat(name_of(dtype), " ", name_of(op.op), " length ", length, " percent ", percent,
                   " wide ", is_wide, " base ", base, " seed ", seed));
  Rng rng(seed);
  const DType working = op.working_dtype(dtype);
  Segment fast(working, length), plain(working, length);
  for (int part = 0; part < 3; ++part) {
    const Elements in = some_elements(dtype, length, percent, base, rng);
    const Pairs pairs = in.pairs(dtype, is_wide, base);
    ASSERT_TRUE(is_support(pairs, length));
    ASSERT_TRUE(reference::is_support(pairs, length));
    scatter_reduce(op, fast.accumulators, pairs);
    reference::scatter_reduce(op, plain.accumulators, pairs);
  }
  ASSERT_EQ(fast.present, plain.present);
  ASSERT_EQ(fast.values, plain.values);
  const std::size_t count = reference::count_present(plain.accumulators);
  ASSERT_EQ(count_present(fast.accumulators), count);
  Target out(dtype, count, is_wide), expected(dtype, count, is_wide);
  ASSERT_EQ(compact(fast.accumulators, out.out), count);
  ASSERT_EQ(reference::compact(plain.accumulators, expected.out), count);
  expect_same(out, expected, count);

  const Elements a = some_elements(dtype, length, percent, 0, rng);
  const Elements b = some_elements(dtype, length, percent / 2, 0, rng);
  for (const std::size_t capacity : {a.narrow.size() + b.narrow.size(), a.narrow.size()}) {
    Target merged_fast(working, capacity, is_wide), merged_plain(working, capacity, is_wide);
    const auto one = merge(op, a.pairs(dtype, is_wide, 0), b.pairs(dtype, is_wide, 0),
                           merged_fast.out);
    const auto two = reference::merge(op, a.pairs(dtype, is_wide, 0), b.pairs(dtype, is_wide, 0),
                                      merged_plain.out);
    ASSERT_EQ(one, two);
    if (one) expect_same(merged_fast, merged_plain, *one);
  }
}

TEST(SparseKernels, AreTheirOraclesForEveryDTypeAndOperator) {
  std::uint64_t seed = 100;
  for (int dtype = 0; dtype < kDTypeCount; ++dtype) {
    for (int op = 0; op < kElementwiseOpCount; ++op) {
      const bool is_wide = ++seed % 3 == 0;
      check_all(static_cast<DType>(dtype), {static_cast<ReduceOp>(op)}, 300 + seed % 70,
                static_cast<unsigned>(seed % 60), is_wide, seed % 2 * 1000, seed);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(SparseKernels, AreTheirOraclesForEveryDensityAndLength) {
  std::uint64_t seed = 500;
  for (const std::size_t length : {0u, 1u, 63u, 64u, 65u, 1000u, 4096u}) {
    for (const unsigned percent : {0u, 1u, 10u, 30u, 60u, 95u, 100u}) {
      for (const DType dtype : {DType::f32, DType::bf16, DType::f64, DType::u8}) {
        ++seed;
        check_all(dtype, {ReduceOp::sum}, length, percent, seed % 4 == 0, 0, seed);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(SparseKernels, CallAUsersOperatorInOrder) {
  const UserOperator last = last_of_two();
  for (const unsigned percent : {3u, 50u, 100u}) {
    check_all(DType::f32, {ReduceOp::sum, &last}, 2000, percent, percent == 50, 7, percent);
  }
}

TEST(SparseKernels, ASupportIsStrictlyIncreasingAndInside) {
  const auto good = [](const std::vector<std::uint32_t>& indices, std::uint64_t base,
                       std::uint64_t limit) {
    const Pairs pairs{.count = indices.size(), .narrow = indices.data(), .base = base};
    EXPECT_EQ(is_support(pairs, limit), reference::is_support(pairs, limit));
    return is_support(pairs, limit);
  };
  EXPECT_TRUE(good({}, 0, 0));
  EXPECT_TRUE(good({3, 4, 9}, 3, 7));
  EXPECT_FALSE(good({3, 4, 9}, 4, 7));
  EXPECT_FALSE(good({3, 4, 9}, 3, 6));
  EXPECT_FALSE(good({3, 3}, 0, 10));
  EXPECT_FALSE(good({4, 3}, 0, 10));
  EXPECT_FALSE(good({9, 3, 8}, 0, 9));
}

}  // namespace
}  // namespace unisono::kernels
