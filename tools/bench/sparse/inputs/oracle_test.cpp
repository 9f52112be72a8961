// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/sparse/inputs/oracle.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace unisono::tools {
namespace {

using ::testing::HasSubstr;

std::vector<Indices> supports_of_all(const SupportShape& shape) {
  std::vector<Indices> out;
  for (int rank = 0; rank < shape.ranks; ++rank) out.push_back(support_of(shape, rank));
  return out;
}

// What the ranks bring, added up here without the oracle's sums.
struct AddedUp {
  Indices indices;
  std::vector<float> values;

  AddedUp(const SparseOracle& oracle, const std::vector<Indices>& supports, int round) {
    std::map<std::uint32_t, float> sums;
    for (std::size_t rank = 0; rank < supports.size(); ++rank) {
      std::vector<float> mine(supports[rank].size());
      oracle.fill(supports[rank], static_cast<int>(rank), round,
                  std::as_writable_bytes(std::span(mine)));
      for (std::size_t i = 0; i < mine.size(); ++i) {
        EXPECT_GE(round % 2 == 0 ? mine[i] : -mine[i], 1);
        sums[supports[rank][i]] += mine[i];
      }
    }
    for (const auto& [at, sum] : sums) {
      indices.push_back(at);
      values.push_back(sum);
    }
  }
  FoundResult sparse() const { return {false, indices, std::as_bytes(std::span(values))}; }
  std::vector<float> dense(std::size_t length) const {
    std::vector<float> out(length);
    for (std::size_t i = 0; i < indices.size(); ++i) out[indices[i]] = values[i];
    return out;
  }
};

FoundResult as_dense(const std::vector<float>& values) {
  return {true, {}, std::as_bytes(std::span(values))};
}

class SparseOracleOf : public ::testing::TestWithParam<Support> {};

TEST_P(SparseOracleOf, AcceptsTheSumAndNothingElse) {
  const SupportShape shape{GetParam(), 3000, 200, 5, 8};
  const auto supports = supports_of_all(shape);
  const SparseOracle oracle(supports, shape.length, DType::f32, 77);
  for (const int round : {0, 1, 2}) {
    AddedUp sum(oracle, supports, round);
    EXPECT_EQ(oracle.nnz_out(), sum.indices.size());
    EXPECT_TRUE(oracle.check(sum.sparse(), round).ok());
    EXPECT_TRUE(oracle.check(as_dense(sum.dense(3000)), round).ok());
    // Of the round before.
    EXPECT_EQ(oracle.check(sum.sparse(), round + 1).code(), Code::corrupted);
    EXPECT_EQ(oracle.check(as_dense(sum.dense(3000)), round + 1).code(), Code::corrupted);
    // One is missing, one is too much, one is off, two are out of turn.
    AddedUp changed = sum;
    changed.indices.pop_back();
    changed.values.pop_back();
    EXPECT_THAT(oracle.check(changed.sparse(), round).message(), HasSubstr("elements instead of"));
    changed = sum;
    changed.values[17] += 1;
    EXPECT_THAT(oracle.check(changed.sparse(), round).message(), HasSubstr("the sum is wrong"));
    changed = sum;
    std::swap(changed.indices[3], changed.indices[4]);
    std::swap(changed.values[3], changed.values[4]);
    EXPECT_THAT(oracle.check(changed.sparse(), round).message(), HasSubstr("out of turn"));
    std::vector<float> dense = sum.dense(3000);
    dense[2999] += 1;
    EXPECT_THAT(oracle.check(as_dense(dense), round).message(), HasSubstr("element 2999 of 3000"));
    dense.pop_back();
    EXPECT_THAT(oracle.check(as_dense(dense), round).message(), HasSubstr("2999 values"));
  }
}

INSTANTIATE_TEST_SUITE_P(Supports, SparseOracleOf, ::testing::ValuesIn(kSupports),
                         [](const auto& each) { return std::string(name_of(each.param)); });

TEST(SparseOracle, AnElementThatNobodyHasIsNamed) {
  const std::vector<Indices> supports{{1, 5}, {5, 7}};
  const SparseOracle oracle(supports, 10, DType::f32, 1);
  AddedUp sum(oracle, supports, 0);
  sum.indices[2] = 8;
  EXPECT_THAT(oracle.check(sum.sparse(), 0).message(), HasSubstr("element 8 of 10, which no rank"));
}

TEST(SparseOracle, WhatIsLeftOutMustNotBeLargerThanWhatIsKept) {
  const SupportShape shape{Support::uniform, 500, 120, 4, 2};
  const auto supports = supports_of_all(shape);
  const SparseOracle oracle(supports, shape.length, DType::f32, 5);
  const AddedUp sum(oracle, supports, 1);
  AddedUp kept = sum, lost = sum;
  std::vector<float> magnitudes;
  for (const float value : sum.values) magnitudes.push_back(-value);
  std::sort(magnitudes.begin(), magnitudes.end());
  const float limit = magnitudes[magnitudes.size() - 60], most = magnitudes.back();
  const auto keep_if = [](AddedUp& of, auto wanted) {
    AddedUp out = of;
    out.indices.clear();
    out.values.clear();
    for (std::size_t i = 0; i < of.indices.size(); ++i) {
      if (!wanted(of.values[i])) continue;
      out.indices.push_back(of.indices[i]);
      out.values.push_back(of.values[i]);
    }
    of = out;
  };
  keep_if(kept, [&](float value) { return -value >= limit; });
  EXPECT_TRUE(oracle.check(kept.sparse(), 1, {.largest = true}).ok());
  EXPECT_TRUE(oracle.check(as_dense(kept.dense(500)), 1, {.largest = true}).ok());
  EXPECT_TRUE(oracle.check(sum.sparse(), 1, {.largest = true}).ok());
  EXPECT_FALSE(oracle.check(kept.sparse(), 1).ok());
  EXPECT_FALSE(oracle.check(kept.sparse(), 2, {.largest = true}).ok());
  keep_if(lost, [&](float value) { return -value < most; });
  EXPECT_THAT(oracle.check(lost.sparse(), 1, {.largest = true}).message(), HasSubstr("left out"));
  keep_if(lost, [](float) { return false; });
  EXPECT_THAT(oracle.check(lost.sparse(), 1, {.largest = true}).message(), HasSubstr("nothing"));
}

TEST(SparseOracle, ACodecMayBeOffByAPartOfTheLargestButNotWhereThereIsNothing) {
  const std::vector<Indices> supports{{2, 3}, {3}};
  const SparseOracle oracle(supports, 6, DType::f32, 5);
  std::vector<float> dense = AddedUp(oracle, supports, 0).dense(6);
  const float most = *std::max_element(dense.begin(), dense.end());
  dense[3] += most / 7 * 0.9F;
  EXPECT_FALSE(oracle.check(as_dense(dense), 0).ok());
  EXPECT_TRUE(oracle.check(as_dense(dense), 0, {.levels = 7}).ok());
  EXPECT_FALSE(oracle.check(as_dense(dense), 0, {.levels = 127}).ok());
  dense[0] = 0.01F;
  EXPECT_FALSE(oracle.check(as_dense(dense), 0, {.levels = 7}).ok());
}

TEST(SparseOracle, SumsAreExactInNarrowTypesOrRefused) {
  const SupportShape shape{Support::identical, 100, 30, 6, 2};
  const auto supports = supports_of_all(shape);
  for (const DType dtype : {DType::bf16, DType::f8e5m2, DType::i8, DType::f64, DType::u16}) {
    if (!SparseOracle::checkable(dtype, 6).ok()) continue;
    const SparseOracle oracle(supports, shape.length, dtype, 3);
    std::vector<std::byte> dense(100 * size_of(dtype));
    oracle.scatter(supports[0], 0, 1, dense);
    // One rank's values are not the sum of six.
    EXPECT_FALSE(oracle.check({true, {}, dense}, 1).ok()) << name_of(dtype);
  }
  EXPECT_TRUE(SparseOracle::checkable(DType::f8e5m2, 8).ok());
  EXPECT_THAT(SparseOracle::checkable(DType::f8e5m2, 9).message(), HasSubstr("at most 8 ranks"));
  EXPECT_THAT(SparseOracle::checkable(DType::boolean, 2).message(), HasSubstr("no sums"));
}

}  // namespace
}  // namespace unisono::tools
