// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "stream/stream.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "base/data/rng.hpp"
#include "kernels/kernels.hpp"
#include "model/sparse/stream_bytes.hpp"

namespace unisono::stream {
namespace {

Stream floats(std::uint64_t length, std::vector<std::uint64_t> indices, std::vector<float> values,
              const kernels::Operator& op = {}) {
  auto made = Stream::from_pairs(DType::f32, length, indices, values.data(), op);
  EXPECT_TRUE(made.ok()) << made.status().to_string();
  return std::move(made).value();
}

std::vector<float> values_of(const Stream& stream) {
  std::vector<float> out(stream.nnz());
  if (!out.empty()) std::memcpy(out.data(), stream.values().data(), out.size() * 4);
  return out;
}

std::vector<std::uint64_t> indices_of(const Stream& stream) {
  std::vector<std::uint64_t> out;
  for (std::size_t i = 0; i < stream.nnz(); ++i) out.push_back(stream.index(i));
  return out;
}

TEST(Stream, SortsOnEntryAndCombinesWhatStandsTwice) {
  const Stream stream = floats(10, {7, 2, 7, 0, 2}, {1, 2, 4, 0, 8});
  EXPECT_EQ(indices_of(stream), (std::vector<std::uint64_t>{0, 2, 7}));
  EXPECT_EQ(values_of(stream), (std::vector<float>{0, 10, 5}));
}

TEST(Stream, KeepsExplicitZeros) {
  EXPECT_EQ(floats(5, {1, 3}, {0, 0}).nnz(), 2u);
}

TEST(Stream, RefusesAnIndexBeyondItsLength) {
  const std::vector<std::uint64_t> indices = {1, 5};
  const std::vector<float> values = {1, 1};
  EXPECT_EQ(Stream::from_pairs(DType::f32, 5, indices, values.data()).status().code(),
            Code::invalid_argument);
  EXPECT_FALSE(Stream::from_pairs(DType::f32, kStreamLengthMax + 1, {}, nullptr).ok());
}

TEST(Stream, RoundsOnceWhereOneIndexStandsOften) {
  // 1 + 16 * 2^-9 would be lost bit by bit in bf16.
  std::vector<float> wide(17, 0x1.0p-9F);
  wide[0] = 1;
  std::vector<std::uint16_t> values(17);
  kernels::cast(DType::bf16, values.data(), DType::f32, wide.data(), 17);
  const std::vector<std::uint64_t> indices(17, 3);
  const auto stream = Stream::from_pairs(DType::bf16, 4, indices, values.data());
  float sum = 0;
  kernels::cast(DType::f32, &sum, DType::bf16, stream.value().values().data(), 1);
  EXPECT_EQ(sum, 1 + 16 * 0x1.0p-9F);
}

TEST(Stream, DensifiesWithTheNeutralElement) {
  Stream most = floats(4, {2}, {5}, {ReduceOp::max});
  most.densify({ReduceOp::max});
  const float least = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(values_of(most), (std::vector<float>{least, least, 5, least}));
  Stream product = floats(3, {0}, {5});
  product.densify({ReduceOp::product});
  EXPECT_EQ(values_of(product), (std::vector<float>{5, 1, 1}));
  product.sparsify({ReduceOp::product});
  EXPECT_TRUE(same(product, floats(3, {0}, {5})));
}

TEST(Stream, IndicesBeyond32BitsAreWide) {
  const std::uint64_t length = (std::uint64_t{1} << 32) + 5;
  const Stream far = floats(length, {3, length - 1}, {1, 2});
  EXPECT_TRUE(far.wide());
  EXPECT_FALSE(floats(length - 5, {3, length - 6}, {1, 2}).wide());
  const View tail = far.view().slice(length - 3, length);
  EXPECT_EQ(tail.nnz(), 1u);
  EXPECT_EQ(tail.index(0), 2u);
  const Stream copy = Stream::copy_of(tail);
  EXPECT_FALSE(copy.wide());
  EXPECT_EQ(indices_of(copy), std::vector<std::uint64_t>{2});
  const Stream near = floats(length, {3, 9}, {10, 1});
  const Stream sum = merged({}, far.view(), near.view(), DType::f32, 4, 1);
  EXPECT_EQ(indices_of(sum), (std::vector<std::uint64_t>{3, 9, length - 1}));
  EXPECT_EQ(values_of(sum), (std::vector<float>{11, 1, 2}));
}

TEST(Stream, SlicesAreSegmentsOfTheirOwn) {
  const Stream stream = floats(10, {0, 4, 5, 9}, {1, 2, 3, 4});
  const View middle = stream.view().slice(4, 9);
  EXPECT_EQ(middle.length, 5u);
  EXPECT_EQ(indices_of(Stream::copy_of(middle)), (std::vector<std::uint64_t>{0, 1}));
  EXPECT_EQ(Stream::copy_of(middle.slice(1, 5)).nnz(), 1u);
  EXPECT_EQ(stream.view().slice(1, 4).nnz(), 0u);
  EXPECT_EQ(stream.view().slice(10, 10).nnz(), 0u);
}

TEST(Merged, IsDenseWhenTheUnionAndNotTheSumOfCountsReachesTheLimit) {
  // 16 elements of 4 bytes with indices of 4: dense from 8 elements on.
  const Stream a = floats(16, {0, 1, 2, 3, 4, 5, 6}, {1, 1, 1, 1, 1, 1, 1});
  const Stream b = floats(16, {0, 1, 2, 3, 4, 5, 7}, {1, 1, 1, 1, 1, 1, 1});
  EXPECT_FALSE(merged({}, a.view(), a.view(), DType::f32, 4, 1).dense());
  const Stream both = merged({}, a.view(), b.view(), DType::f32, 4, 1);
  EXPECT_TRUE(both.dense());
  EXPECT_EQ(values_of(both)[0], 2);
  EXPECT_EQ(values_of(both)[7], 1);
  EXPECT_EQ(values_of(both)[8], 0);
  EXPECT_FALSE(merged({}, a.view(), b.view(), DType::f32, 4, 1.1).dense());
  EXPECT_TRUE(merged({}, a.view(), a.view(), DType::f32, 4, 0).dense());
  const Stream none(DType::f32, 0);
  EXPECT_FALSE(merged({}, none.view(), none.view(), DType::f32, 4, 1).dense());
}

TEST(Merged, OfSparseAndDenseIsDense) {
  const std::vector<float> all = {1, 2, 3};
  const Stream dense = Stream::from_dense(DType::f32, 3, all.data());
  const Stream sum = merged({}, floats(3, {1}, {5}).view(), dense.view(), DType::f32, 4, 100);
  EXPECT_EQ(values_of(sum), (std::vector<float>{1, 7, 3}));
}

TEST(SupportHash, DependsOnIndicesAndNothingElse) {
  const Stream a = floats(20, {3, 5}, {1, 2}), b = floats(20, {3, 5}, {7, 8});
  EXPECT_EQ(support_hash(a.view()), support_hash(b.view()));
  EXPECT_NE(support_hash(a.view()), support_hash(floats(20, {3, 6}, {1, 2}).view()));
  EXPECT_NE(support_hash(a.view()), support_hash(floats(21, {3, 5}, {1, 2}).view()));
  EXPECT_NE(support_hash(a.view()), support_hash(floats(20, {3}, {1}).view()));
}

TEST(StreamBytes, TheShortestFormatIsChosenByDensity) {
  const std::uint64_t n = 1 << 20;
  EXPECT_EQ(shortest_format(n, 10, 4), StreamFormat::pairs);
  EXPECT_EQ(shortest_format(n, n / 1000, 4), StreamFormat::blocks);
  EXPECT_EQ(shortest_format(n, n / 10, 4), StreamFormat::bitmap);
  EXPECT_EQ(shortest_format(n, n - n / 100, 4), StreamFormat::dense);
  EXPECT_EQ(shortest_format(n, 0, 4), StreamFormat::pairs);
  EXPECT_EQ(shortest_format(0, 0, 4), StreamFormat::pairs);
  EXPECT_EQ(stream_payload_bytes(StreamFormat::pairs, n, 10, 4), 80u);
  EXPECT_EQ(stream_payload_bytes(StreamFormat::pairs, n << 20, 10, 4), 120u);
}

}  // namespace
}  // namespace unisono::stream
