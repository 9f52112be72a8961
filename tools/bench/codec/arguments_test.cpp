// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/codec/arguments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exit_codes.hpp"
#include "testing/printed.hpp"
#include "unisono/codec.hpp"

namespace unisono::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What is said about a line that cannot be.
std::string codec_refusal(const std::vector<std::string>& line) {
  int exit_code = -1;
  const Printed printed = printed_by([&] { exit_code = parse_codec_arguments(line).exit_code; });
  EXPECT_EQ(exit_code, kWrongUsage) << printed.out << printed.err;
  return printed.err;
}

TEST(CodecArguments, WithoutAnyTheUsualCodecsHave64MebibytesOfFloats) {
  const auto parsed = parse_codec_arguments({});
  ASSERT_EQ(parsed.exit_code, -1);
  EXPECT_EQ(parsed.settings.codecs, usual_codecs());
  EXPECT_THAT(parsed.settings.lengths, ElementsAre(std::uint64_t{16} << 20));
}

TEST(CodecArguments, EveryUsualCodecCanBeRead) {
  for (const std::string& text : usual_codecs()) EXPECT_TRUE(parse_codec(text).ok()) << text;
}

TEST(CodecArguments, CompositionsSizesAndTypes) {
  const auto parsed = parse_codec_arguments({"--codec", "qsgd:4,ef|topk:512:4|qsgd:4,qsgd:4",
                                             "--bytes", "7,1K", "--dtype", "bf16"});
  ASSERT_EQ(parsed.exit_code, -1);
  EXPECT_THAT(parsed.settings.codecs, ElementsAre("qsgd:4", "ef|topk:512:4|qsgd:4"));
  EXPECT_THAT(parsed.settings.lengths, ElementsAre(4U, 512U));
  EXPECT_EQ(parsed.settings.dtype, DType::bf16);
}

TEST(CodecArguments, WhatIsNoCodecIsRefusedWithItsReason) {
  EXPECT_THAT(codec_refusal({"--codec", "qsgd:3"}), HasSubstr("qsgd:3"));
  EXPECT_THAT(codec_refusal({"--codec", "qsgd:4|topk:512:4"}), HasSubstr("character"));
  EXPECT_THAT(codec_refusal({"--bytes", "0"}), HasSubstr("--bytes 0"));
  EXPECT_THAT(codec_refusal({"--bytes", "1T"}), HasSubstr("--bytes 1T"));
  EXPECT_THAT(codec_refusal({"--dtype", "int32"}), HasSubstr("codecs are for floats"));
  EXPECT_THAT(codec_refusal({"--repeat", "0"}), HasSubstr("--repeat"));
  EXPECT_THAT(codec_refusal({"--nonsense"}), HasSubstr("--nonsense"));
}

}  // namespace
}  // namespace unisono::tools
