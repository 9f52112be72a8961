// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/testing/codec_vectors.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <vector>

#include "kernels/pick/pick.hpp"
#include "kernels/quantise/quantise.hpp"
#include "kernels/quantise/quantise_reference.hpp"

namespace unisono::kernels {
namespace {

std::vector<float> vector_input() {
  std::vector<float> out(vectors::kCount);
  for (std::uint32_t i = 0; i < out.size(); ++i) {
    out[i] = std::bit_cast<float>(vectors::input_bits(i));
  }
  return out;
}

std::string in_hexadecimal(const std::vector<std::byte>& bytes) {
  std::string out;
  for (const std::byte byte : bytes) {
    out += "0123456789abcdef"[std::to_integer<int>(byte) >> 4];
    out += "0123456789abcdef"[std::to_integer<int>(byte) & 15];
  }
  return out;
}

TEST(CodecVectors, QuantisingGivesThem) {
  const std::vector<float> values = vector_input();
  const QuantiseKey key{vectors::kSeed, vectors::kTensor, vectors::kOwner, vectors::kStep};
  for (const auto& vector : vectors::kQuantised) {
    for (const auto call : {quantise, reference::quantise}) {
      std::vector<float> scales(scale_count(values.size()));
      std::vector<std::byte> codes(code_bytes(vector.bits, values.size()));
      call(vector.bits, vector.random ? &key : nullptr, vectors::kFirst, values.data(),
           values.size(), scales.data(), codes.data());
      EXPECT_EQ(in_hexadecimal(codes), vector.codes) << vector.bits << " " << vector.random;
      for (std::size_t b = 0; b < scales.size(); ++b) {
        EXPECT_EQ(std::bit_cast<std::uint32_t>(scales[b]), vectors::kScales[b]);
      }
    }
  }
}

TEST(CodecVectors, PickingGivesThem) {
  const std::vector<float> values = vector_input();
  const std::vector<std::uint32_t> of_buckets(std::begin(vectors::kTopOfBuckets),
                                              std::end(vectors::kTopOfBuckets));
  std::vector<std::uint32_t> indices(bucket_picks(values.size(), 512, 4));
  std::vector<float> picked(indices.size());
  top_of_buckets(values.data(), values.size(), 512, 4, 0, indices.data(), picked.data());
  EXPECT_EQ(indices, of_buckets);

  const std::vector<std::uint32_t> of_all(std::begin(vectors::kLargest),
                                          std::end(vectors::kLargest));
  indices.resize(of_all.size());
  picked.resize(of_all.size());
  const Cut cut = cut_of_largest(values.data(), values.size(), of_all.size());
  EXPECT_EQ(
      compact(values.data(), values.size(), cut, 0, indices.data(), picked.data(), indices.size()),
      of_all.size());
  EXPECT_EQ(indices, of_all);
  for (std::size_t n = 0; n < indices.size(); ++n) EXPECT_EQ(picked[n], values[indices[n]]);
}

}  // namespace
}  // namespace unisono::kernels
