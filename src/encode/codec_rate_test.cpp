// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "encode/codec_rate.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace unisono::encode {
namespace {

TEST(CodecRate, IsFoundForEveryCodec) {
  const SteadyClock clock;
  for (const CodecRow& row : codec_table()) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      const double found = seconds_per_byte(row.make(), dtype, clock);
      EXPECT_TRUE(std::isfinite(found) && found >= 0) << row.name;
    }
  }
}

TEST(CodecRate, IsFoundForWhatPacksAllElements) {
  const SteadyClock clock;
  for (const char* codec : {"qsgd:2", "qsgd:8", "fp8"}) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      const double found = seconds_per_byte(parse_codec(codec).value(), dtype, clock);
      EXPECT_TRUE(std::isfinite(found) && found > 0) << codec;
    }
  }
}

}  // namespace
}  // namespace unisono::encode
