// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Compositions as types and as text say the same, and refuse the same.
#include <gtest/gtest.h>

#include "base/data/rng.hpp"
#include "model/codec/rules.hpp"
#include "unisono/codec.hpp"

namespace unisono {
namespace {

using namespace codec;  // NOLINT: as users write it

template <typename A, typename B>
concept CanFollow = requires(A a, B b) { a | b; };

TEST(CodecText, TypesAndTextSayTheSame) {
  const auto same = [](const auto& composed, const char* text) {
    const auto parsed = parse_codec(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status().to_string();
    EXPECT_EQ(parsed.value(), composed.spec()) << text;
    EXPECT_EQ(composed.text(), text);
    EXPECT_TRUE(check_codec(composed.spec()).ok());
  };
  same(error_feedback() | topk{.bucket = 512, .k = 4} | qsgd{.bits = 4}, "ef|topk:512:4|qsgd:4");
  same(error_feedback(true) | topk_global{.fraction = 0.01}, "ef:picked|topk:global:0.01");
  same(error_feedback() | codec::clip{.norm = 0.5} | codec::momentum{.factor = 0.9} |
           codec::warmup{.steps = 100} | topk{} | fp16{},
       "ef|clip:0.5|momentum:0.9|warmup:100|topk:512:4|fp16");
  same(codec::threshold{.magnitude = 1e-3} | fp8{.wide = true}, "threshold:0.001|fp8:e5m2");
  same(error_feedback() | codec::powersgd{.rank = 4}, "ef|powersgd:4");
  same(only(qsgd{.bits = 8}), "qsgd:8");
  same(only(codec::bf16{}), "bf16");
  same(only(none{}), "none");
  const std::string as_setting = error_feedback() | topk{} | qsgd{};
  EXPECT_EQ(as_setting, "ef|topk:512:4|qsgd:4");
}

TEST(CodecText, ReadsOtherSpellings) {
  EXPECT_EQ(parse_codec("").value(), CodecSpec{});
  EXPECT_EQ(parse_codec(" ef | topk:512:4 | qsgd:4:1024 ").value().text(), "ef|topk:512:4|qsgd:4");
  EXPECT_EQ(parse_codec("fp8").value().text(), "fp8:e4m3");
}

TEST(CodecText, WhatMakesNoSenseDoesNotCompile) {
  using Feedback = codec::ef;
  using Picked = decltype(error_feedback() | topk{});
  static_assert(CanFollow<Feedback, topk>);
  static_assert(CanFollow<Picked, qsgd>);
  static_assert(!CanFollow<topk, Feedback>);
  static_assert(!CanFollow<qsgd, topk>);
  static_assert(!CanFollow<qsgd, codec::fp16>);
  static_assert(!CanFollow<topk, topk_global>);
  static_assert(!CanFollow<Picked, codec::powersgd>);
  static_assert(!CanFollow<Feedback, none>);
  static_assert(!CanFollow<codec::clip, codec::momentum>);
  static_assert(!CanFollow<codec::warmup, codec::threshold>);
  static_assert(!CanFollow<codec::warmup, qsgd>);
  static_assert(!CanFollow<decltype(error_feedback() | codec::momentum{}), qsgd>);
  static_assert(!decltype(error_feedback() | codec::clip{})::whole);
  static_assert(Picked::whole);
}

TEST(CodecText, RefusalsNameThePlaceTheReasonAndTheMend) {
  const auto refused = [](const char* text, const char* place, const char* mend) {
    const auto parsed = parse_codec(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.status().code(), Code::invalid_argument);
    EXPECT_NE(parsed.status().message().find(place), std::string::npos)
        << parsed.status().message();
    EXPECT_NE(parsed.status().message().find(mend), std::string::npos)
        << parsed.status().message();
  };
  refused("huffman", "character 1: there is no stage 'huffman'", "The stages are ef, clip");
  refused("ef|topq:512:4", "character 4", "did you mean 'topk'?");
  refused("topk:512:4|ef", "character 12: 'ef' comes after 'topk'", "put it before");
  refused("qsgd:4|fp16", "character 8: 'fp16' and 'qsgd' do the same", "keep one");
  refused("ef|none", "character 4: none stands alone", "leave it out");
  refused("ef", "character 3: nothing follows 'ef'", "end with a stage");
  refused("ef|", "character 4: a stage is missing", "remove the bar");
  refused("clip:1|momentum:0.9|topk:512:4", "character 8", "begin with ef");
  refused("ef|momentum:0.9|qsgd:4", "character 17: momentum needs", "put topk");
  refused("warmup:10|threshold:1", "character 11", "leave warmup out");
  refused("topk:512:4|powersgd:2", "character 12", "leave out what picks");
  refused("qsgd:3", "character 1: there are no codes of 3 bits", "qsgd:2, qsgd:4 or qsgd:8");
  refused("qsgd:4:512", "character 8", "write qsgd:4");
  refused("topk:512:600", "character 1: 600 of 512", "1 <= K <= BUCKET <= 4096");
  refused("topk:9999:1", "character 1", "4096");
  refused("topk:512", "character 1: 'topk' has 1 number", "write topk:BUCKET:K");
  refused("topk:global:2", "character 1: the fraction is 2", "up to 1");
  refused("ef|momentum:1|topk:512:4", "character 4: the factor is 1", "between 0 and 1");
  refused("threshold:0", "character 11", "above 0");
  refused("clip:0|qsgd:4", "character 6: 'clip' of 0", "leave it out");
  refused("warmup:0|topk:512:4", "character 8", "leave it out");
  refused("threshold:1e-60", "character 1", "float32");
  refused("topk:512:four", "character 10: 'four' is not a whole number", "write topk");
  refused("fp8:e3m4", "character 5: there is no 8-bit float", "fp8:e4m3");
  refused("powersgd:0", "character 1: the rank is 0", "from 1 to 64");
  refused("ef:picked|qsgd:4", "character 11: ef:picked keeps", "write ef");
  refused("ef:all|topk:512:4", "character 4: ef has no variant 'all'", "ef:picked");
}

TEST(CodecText, NumbersOfTypesAreChecked) {
  EXPECT_FALSE(check_codec((error_feedback() | topk{.bucket = 512, .k = 0}).spec()).ok());
  EXPECT_FALSE(check_codec(only(qsgd{.bits = 5}).spec()).ok());
}

TEST(CodecText, Traits) {
  const auto traits = [](const char* text) { return traits_of(parse_codec(text).value()); };
  EXPECT_EQ(traits("none"), (CodecTraits{true, true, true, true, false}));
  EXPECT_EQ(traits("fp16"), (CodecTraits{true, false, true, true, false}));
  EXPECT_EQ(traits("qsgd:4"), (CodecTraits{false, true, true, true, false}));
  EXPECT_EQ(traits("fp8"), (CodecTraits{false, false, true, true, false}));
  EXPECT_EQ(traits("ef|topk:512:4|qsgd:4"), (CodecTraits{false, false, true, true, true}));
  EXPECT_EQ(traits("threshold:1"), (CodecTraits{false, false, true, false, true}));
  EXPECT_EQ(traits("ef|warmup:9|topk:512:4"), (CodecTraits{false, false, true, false, true}));
  EXPECT_EQ(traits("powersgd:2"), (CodecTraits{true, false, false, true, true}));
  static_assert((error_feedback() | topk{}).traits().needs_feedback);
}

TEST(CodecText, WhateverIsReadIsWrittenAndReadAsTheSame) {
  Rng rng(7);
  constexpr std::string_view kPieces[] = {"ef", "topk", "qsgd", "fp16", ":", "|", "512", "4", "0.5",
                                          "global", "momentum", "clip", "-1", "none", "1e400", " "};
  int read = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (std::uint64_t n = rng.below(9); n > 0; --n) text += kPieces[rng.below(16)];
    const auto parsed = parse_codec(text);
    if (!parsed.ok()) continue;
    ++read;
    const auto again = parse_codec(parsed.value().text());
    ASSERT_TRUE(again.ok()) << text;
    ASSERT_EQ(again.value(), parsed.value()) << text;
  }
  EXPECT_GT(read, 50);
}

TEST(CodecRules, TheFirstThatFitsCounts) {
  const auto rules = CodecRules::parse("*.bias=none, conv?.*=ef|topk:512:8 ,*=fp16").value();
  EXPECT_EQ(rules.find("fc.bias")->text(), "none");
  EXPECT_EQ(rules.find("conv1.bias")->text(), "none");
  EXPECT_EQ(rules.find("conv1.weight")->text(), "ef|topk:512:8");
  EXPECT_EQ(rules.find("conv12.weight")->text(), "fp16");
  EXPECT_EQ(CodecRules::parse("a*b*c=qsgd:4").value().find("axbxbx"), nullptr);
  EXPECT_NE(CodecRules::parse("a*b*c=qsgd:4").value().find("axbxbxc"), nullptr);
  EXPECT_TRUE(CodecRules::parse(" ").value().empty());
  EXPECT_TRUE(matches("*", ""));
  EXPECT_FALSE(matches("?", ""));
}

TEST(CodecRules, RefusalsNameTheRule) {
  EXPECT_NE(CodecRules::parse("*.bias").status().message().find("'*.bias' is not a rule"),
            std::string::npos);
  EXPECT_NE(CodecRules::parse("conv*=zap").status().message().find("'conv*'"), std::string::npos);
}

}  // namespace
}  // namespace unisono
