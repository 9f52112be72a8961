// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What single stages promise beyond the contract: bounds, averages, which elements are picked.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "base/data/rng.hpp"
#include "encode/lowrank/lowrank.hpp"
#include "encode/packet/packet_codec.hpp"
#include "encode/packet/picks.hpp"

namespace unisono::encode {
namespace {

std::vector<float> uniform(std::size_t count, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<float> out(count);
  for (float& value : out) value = static_cast<float>(rng.uniform() * 2 - 1);
  return out;
}

Source whole(const std::vector<float>& values, Shape shape = {}) {
  return {.tensor = "t", .dtype = DType::f32, .elements = values.data(), .count = values.size(),
          .shape = std::move(shape), .prescale = 1.0, .owner = 0};
}

std::vector<float> sent_by(const PacketCodec& codec, const Source& source, TensorMemory& memory) {
  std::vector<std::byte> packet;
  EXPECT_TRUE(codec.encode(source, memory, packet).ok());
  std::vector<float> out(source.count, 0.0F);
  EXPECT_TRUE(codec.decode_add(packet, source.shape, out).ok());
  return out;
}

std::unique_ptr<PacketCodec> codec_of(const char* text) {
  return make_packet_codec(parse_codec(text).value());
}

TEST(CodecValues, QsgdIsWithinALevelAndRightOnAverage) {
  const std::size_t count = 2100;
  const auto values = uniform(count, 1);
  for (const int bits : {2, 4, 8}) {
    const auto codec = codec_of(("qsgd:" + std::to_string(bits)).c_str());
    TensorMemory memory;
    const int steps = 2000;
    std::vector<double> sum(count, 0.0);
    for (int step = 0; step < steps; ++step) {
      const auto sent = sent_by(*codec, whole(values), memory);
      for (std::size_t i = 0; i < count; ++i) {
        const double error = static_cast<double>(sent[i]) - static_cast<double>(values[i]);
        ASSERT_LT(std::fabs(error), 1.0 / kernels::quantise_levels(bits) * 1.00001);
        sum[i] += error;
      }
    }
    // An element between two levels goes to the upper one as often as it is near to it.
    double all = 0, all_variance = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t bucket = i / 1024 * 1024;
      double scale = 0;
      for (std::size_t j = bucket; j < std::min(count, bucket + 1024); ++j) {
        scale = std::max(scale, static_cast<double>(std::fabs(values[j])));
      }
      const double level = scale / kernels::quantise_levels(bits);
      const double up = static_cast<double>(values[i]) / level -
                        std::floor(static_cast<double>(values[i]) / level);
      const double variance = up * (1 - up) * level * level / steps;
      // A few steps to the rarer side are no deviation yet.
      ASSERT_LE(std::fabs(sum[i] / steps), 5 * std::sqrt(variance) + 5 * level / steps)
          << bits << " bits, element " << i;
      all += sum[i] / steps;
      all_variance += variance;
    }
    EXPECT_LE(std::fabs(all), 5 * std::sqrt(all_variance)) << bits << " bits";
  }
}

TEST(CodecValues, OwnersAndTensorsDrawTheirOwnNumbers) {
  const auto values = uniform(1024, 2);
  const auto codec = codec_of("qsgd:2");
  TensorMemory a, b, c;
  Source other = whole(values), named = whole(values);
  other.owner = 1;
  named.tensor = "u";
  const auto first = sent_by(*codec, whole(values), a);
  EXPECT_NE(first, sent_by(*codec, other, b));
  EXPECT_NE(first, sent_by(*codec, named, c));
  EXPECT_NE(first, sent_by(*codec, whole(values), a));  // the next step
}

TEST(CodecValues, TopkTakesTheLargestAndTheLowestIndexOfEquals) {
  const auto codec = codec_of("topk:8:2");
  std::vector<float> values = {1, -3, 3, 0, 3, 2, 1, 0, /* tail of 3: one of them */ 5, -5, 1};
  TensorMemory memory;
  EXPECT_EQ(sent_by(*codec, whole(values), memory),
            (std::vector<float>{0, -3, 3, 0, 0, 0, 0, 0, 5, 0, 0}));
  EXPECT_TRUE(memory.residual.empty());
}

TEST(CodecValues, WhatWasNotPickedComesLater) {
  const auto codec = codec_of("ef|topk:8:1");
  TensorMemory memory;
  const std::vector<float> values = {4, 3, 0, 0, 0, 0, 0, 0}, zero(8, 0.0F);
  EXPECT_EQ(sent_by(*codec, whole(values), memory)[0], 4.0F);
  EXPECT_EQ(sent_by(*codec, whole(zero), memory)[1], 3.0F);
  EXPECT_EQ(sent_by(*codec, whole(zero), memory), zero);
}

TEST(CodecValues, OnlyEfPickedForgetsWhatRoundingTook) {
  const auto values = uniform(512, 3);
  for (const bool picked : {false, true}) {
    const auto codec = codec_of(picked ? "ef:picked|topk:512:4|qsgd:2" : "ef|topk:512:4|qsgd:2");
    TensorMemory memory;
    const auto sent = sent_by(*codec, whole(values), memory);
    double lost = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      lost += std::fabs(static_cast<double>(values[i] - sent[i] - memory.residual[i]));
    }
    EXPECT_EQ(lost > 0, picked);
  }
}

TEST(CodecValues, MomentumGathersInWhatIsNotSentAndEndsWhereItIs) {
  const auto codec = codec_of("ef|momentum:0.5|topk:4:1");
  TensorMemory memory;
  const std::vector<float> values = {8, 1, 0, 0};
  EXPECT_EQ(sent_by(*codec, whole(values), memory), (std::vector<float>{8, 0, 0, 0}));
  EXPECT_EQ(memory.velocity, (std::vector<float>{0, 1, 0, 0}));
  // velocity {8, 1.5}, residual {0, 1} + it
  EXPECT_EQ(sent_by(*codec, whole(values), memory), (std::vector<float>{8, 0, 0, 0}));
  EXPECT_EQ(memory.residual, (std::vector<float>{0, 2.5, 0, 0}));
  EXPECT_EQ(memory.velocity, (std::vector<float>{0, 1.5, 0, 0}));
}

TEST(CodecValues, ClippingScalesDownToTheNorm) {
  TensorMemory memory;
  const std::vector<float> values = {3, 4};
  EXPECT_EQ(sent_by(*codec_of("ef|clip:2.5|topk:2:2"), whole(values), memory),
            (std::vector<float>{1.5, 2}));
  TensorMemory small;
  EXPECT_EQ(sent_by(*codec_of("ef|clip:5|topk:2:2"), whole(values), small), values);
}

TEST(CodecValues, WarmingUpBeginsWithAQuarterAndEndsWhereTheCodecIs) {
  const CodecSpec spec = parse_codec("warmup:8|topk:512:2").value();
  EXPECT_EQ(picks_at(spec, 512, 0), 128u);
  std::size_t last = 512;
  for (std::uint32_t step = 0; step < 8; ++step) {
    const std::size_t k = picks_at(spec, 512, step);
    EXPECT_LE(k, last);
    EXPECT_GT(k, 2u);
    last = k;
  }
  EXPECT_EQ(picks_at(spec, 512, 8), 2u);
  EXPECT_EQ(picks_at(parse_codec("topk:global:0.001").value(), 100, 0), 1u);
  EXPECT_EQ(picks_at(parse_codec("warmup:4|topk:global:0.5").value(), 100, 0), 50u);
}

TEST(CodecValues, AThresholdTakesWhatReachesIt) {
  const auto codec = codec_of("ef|threshold:0.5");
  std::vector<float> values(3000, 0.75F);   // far more than there is room for at first
  values[7] = 0.25F;
  TensorMemory memory;
  auto expected = values;
  expected[7] = 0;
  EXPECT_EQ(sent_by(*codec, whole(values), memory), expected);
  EXPECT_EQ(memory.residual[7], 0.25F);
}

TEST(LowRank, AMatrixOfThatRankIsFoundAlmostExactly) {
  const Matrix matrix{40, 30};
  const auto a = uniform(40 * 2, 1), b = uniform(30 * 2, 2);
  std::vector<float> m(1200, 0.0F);
  add_product(matrix, 2, a.data(), b.data(), 1.0F, m.data());
  TensorMemory memory;
  const auto codec = codec_of("ef|powersgd:2");
  const auto sent = sent_by(*codec, whole(m, {40, 30}), memory);
  for (std::size_t i = 0; i < m.size(); ++i) ASSERT_NEAR(sent[i], m[i], 1e-5);
  EXPECT_EQ(memory.factor.size(), 60u);
}

TEST(LowRank, ColumnsBecomeOrthonormalAndDependentOnesNull) {
  std::vector<float> left(50 * 3);
  const auto random = uniform(50 * 2, 3);
  for (std::size_t r = 0; r < 50; ++r) {
    left[r * 3] = random[r * 2];
    left[r * 3 + 1] = 2 * random[r * 2];    // depends on the first
    left[r * 3 + 2] = random[r * 2 + 1];
  }
  orthonormalise(50, 3, left.data());
  double dots[3][3] = {};
  for (std::size_t r = 0; r < 50; ++r) {
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 3; ++j) {
        dots[i][j] += static_cast<double>(left[r * 3 + i]) * static_cast<double>(left[r * 3 + j]);
      }
    }
  }
  EXPECT_NEAR(dots[0][0], 1, 1e-6);
  EXPECT_EQ(dots[1][1], 0);
  EXPECT_NEAR(dots[2][2], 1, 1e-6);
  EXPECT_NEAR(dots[0][2], 0, 1e-6);
}

TEST(LowRank, VectorsAndSmallMatricesTravelAsTheyAre) {
  EXPECT_FALSE(has_low_rank(matrix_of({1000}), 1));
  EXPECT_FALSE(has_low_rank(matrix_of({4, 4}), 2));
  EXPECT_TRUE(has_low_rank(matrix_of({64, 3, 3, 3}), 4));
  EXPECT_EQ(matrix_of({64, 3, 3, 3}).columns, 27u);
  const auto values = uniform(100, 5);
  TensorMemory memory;
  EXPECT_EQ(sent_by(*codec_of("ef|powersgd:4"), whole(values, {100}), memory), values);
}

}  // namespace
}  // namespace unisono::encode
