// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "submit/sparse_door.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace unisono::submit {
namespace {

const Members kPair = Members::of({0, 1}, 0);

bool knows_dense(Collective, std::string_view name) { return name == "dense"; }

template <typename T, typename Index>
Result<SparseEntry> entry(const std::vector<Index>& indices, const std::vector<T>& values,
                          std::int64_t length, const SparseSettings& settings = {}) {
  return make_sparse_entry(
      Collective::sparse_allreduce, "x",
      SparseOperand::of(std::span<const Index>(indices), std::span<const T>(values), length),
      settings, &kPair, {}, knows_dense);
}

TEST(SparseDoor, SortsAndCombines) {
  const auto made = entry<float, std::int32_t>({9, 2, 9, 5}, {1, 2, 4, 8}, 100,
                                               {.op = ReduceOp::sum});
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  const stream::Stream& stream = *made.value().stream;
  ASSERT_EQ(stream.nnz(), 3u);
  const auto* values = reinterpret_cast<const float*>(stream.values().data());
  EXPECT_EQ(stream.index(0), 2u);
  EXPECT_EQ(values[0], 2.0f);
  EXPECT_EQ(stream.index(2), 9u);
  EXPECT_EQ(values[2], 5.0f);
  EXPECT_EQ(made.value().request.sparse.nnz, 3u);
  EXPECT_EQ(made.value().request.shape, Shape{100});
}

TEST(SparseDoor, ScalesWhatWasCombined) {
  const auto made = entry<float, std::int64_t>({4, 4}, {1, 2}, 9,
                                               {.op = ReduceOp::sum, .prescale = 10});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(*reinterpret_cast<const float*>(made.value().stream->values().data()), 30.0f);
}

TEST(SparseDoor, ExpectedCountsStandForTheOwn) {
  const auto made = entry<float, std::uint32_t>({4}, {1}, 9, {.expected_nnz = 20});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made.value().request.sparse.nnz, 0u);
  EXPECT_EQ(made.value().request.sparse.expected, 9u);
}

TEST(SparseDoor, IndicesOfEveryTypeAreChecked) {
  EXPECT_TRUE((entry<float, std::uint64_t>({8}, {1}, 9)).ok());
  EXPECT_FALSE((entry<float, std::uint64_t>({9}, {1}, 9)).ok());
  EXPECT_FALSE((entry<float, std::uint64_t>({std::uint64_t{1} << 63}, {1}, 9)).ok());
  EXPECT_FALSE((entry<float, std::uint32_t>({9}, {1}, 9)).ok());
  EXPECT_FALSE((entry<float, std::int32_t>({-1}, {1}, 9)).ok());
  EXPECT_FALSE((entry<float, std::int64_t>({-1}, {1}, 9)).ok());
  EXPECT_FALSE((entry<float, std::int64_t>({0}, {1}, 0)).ok());
  EXPECT_TRUE((entry<float, std::int64_t>({}, {}, 0)).ok());
  EXPECT_FALSE((entry<float, std::int16_t>({1}, {1}, 9)).ok());
}

TEST(SparseDoor, SettingsAreChecked) {
  const auto refused = [](const SparseSettings& settings) {
    return !entry<float, std::int64_t>({1}, {1}, 9, settings).ok();
  };
  EXPECT_FALSE(refused({.algorithm = "dense"}));
  EXPECT_TRUE(refused({.algorithm = "other"}));
  EXPECT_TRUE(refused({.op = ReduceOp::adasum}));
  EXPECT_TRUE(refused({.op = ReduceOp::logical_and}));
  EXPECT_TRUE(refused({.op = ReduceOp::min, .prescale = 2}));
  EXPECT_TRUE(refused({.prescale = std::numeric_limits<double>::infinity()}));
  EXPECT_TRUE(refused({.team = 7}));
  EXPECT_TRUE(refused({.gather_bits = 4}));
  EXPECT_TRUE(refused({.allow_loss = true, .gather_bits = 3}));
  EXPECT_TRUE(refused({.op = ReduceOp::max, .allow_loss = true, .gather_bits = 4}));
  EXPECT_FALSE(refused({.allow_loss = true, .gather_bits = 4}));
  EXPECT_TRUE(refused({.top_k = 10}));
}

}  // namespace
}  // namespace unisono::submit
