// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/sparse/arguments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exit_codes.hpp"
#include "testing/printed.hpp"

namespace unisono::tools {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

// What is said about a line that cannot be.
std::string sparse_refusal(const std::vector<std::string>& line) {
  int exit_code = -1;
  const Printed printed = printed_by([&] { exit_code = parse_sparse_arguments(line).exit_code; });
  EXPECT_EQ(exit_code, kWrongUsage) << printed.out << printed.err;
  return printed.err;
}

TEST(SparseArguments, WithoutAnyThereIsOneVectorAndEveryAlgorithm) {
  const auto parsed = parse_sparse_arguments({});
  ASSERT_EQ(parsed.exit_code, -1);
  ASSERT_EQ(parsed.settings.cases.size(), 1U);
  EXPECT_EQ(parsed.settings.cases[0].length, 4U << 20);
  EXPECT_EQ(parsed.settings.cases[0].bytes(), 16U << 20);
  EXPECT_EQ(parsed.settings.cases[0].density, 1.0 / 128);
  EXPECT_EQ(parsed.settings.ranks, 0);
  EXPECT_THAT(parsed.settings.dense, ElementsAre("ring", "auto"));
  for (const char* name : {"auto", "dense", "ssar_recursive_double", "ssar_split_allgather",
                           "dsar_split_allgather", "sparse_ring", "sparse_allgather", "oktopk"}) {
    EXPECT_THAT(parsed.settings.methods, Contains(SparseMethod{name}));
  }
  EXPECT_THAT(parsed.settings.methods, Contains(SparseMethod{"dsar_split_allgather", 4}));
  EXPECT_EQ((SparseMethod{"dsar_split_allgather", 4}).name(), "dsar_split_allgather+qsgd:4");
}

TEST(SparseArguments, SizesTypesSupportsAndDensitiesAreMultiplied) {
  const auto parsed = parse_sparse_arguments(
      {"-np", "3", "--bytes", "1K,10", "--dtype", "fp32,bf16", "--density", "0.5,0.25,1",
       "--support", "zipf,uniform,zipf", "--algorithm", "sparse_ring,auto,sparse_ring"});
  ASSERT_EQ(parsed.exit_code, -1);
  ASSERT_EQ(parsed.settings.cases.size(), 24U);
  EXPECT_EQ(parsed.settings.ranks, 3);
  EXPECT_EQ(parsed.settings.cases[0].length, 256U);
  EXPECT_EQ(parsed.settings.cases[6].length, 512U);    // of two bytes each
  EXPECT_EQ(parsed.settings.cases[12].length, 3U);     // ten bytes are three floats
  EXPECT_EQ(parsed.settings.cases[0].support, Support::zipf);
  EXPECT_EQ(parsed.settings.cases[3].support, Support::uniform);
  EXPECT_EQ(parsed.settings.cases[4].density, 0.25);
  EXPECT_THAT(parsed.settings.methods,
              ElementsAre(SparseMethod{"sparse_ring"}, SparseMethod{"auto"}));
}

TEST(SparseArguments, LengthsAreElements) {
  const auto parsed = parse_sparse_arguments({"--length", "16777216", "--support", "all",
                                              "--dense", "none"});
  ASSERT_EQ(parsed.exit_code, -1);
  ASSERT_EQ(parsed.settings.cases.size(), 4U);
  EXPECT_EQ(parsed.settings.cases[3].bytes(), 64U << 20);
  EXPECT_THAT(parsed.settings.dense, IsEmpty());
}

TEST(SparseArguments, EngineOptionsGoToTheEngine) {
  const auto parsed = parse_sparse_arguments(
      {"--transport", "tcp", "--integrity", "plain", "--set", "tree_radix=4", "--warmup", "1"});
  ASSERT_EQ(parsed.exit_code, -1);
  EXPECT_THAT(
      parsed.settings.options,
      ElementsAre(Pair("transport", "tcp"), Pair("integrity", "plain"), Pair("tree_radix", "4")));
  EXPECT_EQ(parsed.settings.warmup, 1);
}

TEST(SparseArguments, WhatCannotBeSparseIsRefusedWithItsReason) {
  EXPECT_THAT(sparse_refusal({"--bytes", "0"}), HasSubstr("--bytes 0"));
  EXPECT_THAT(sparse_refusal({"--length", "many"}), HasSubstr("--length many"));
  EXPECT_THAT(sparse_refusal({"--length", "8", "--bytes", "8"}), HasSubstr("--length"));
  EXPECT_THAT(sparse_refusal({"--bytes", "64G"}), HasSubstr("at most 2^32"));
  EXPECT_THAT(sparse_refusal({"--density", "0"}), HasSubstr("--density 0: write parts above 0"));
  EXPECT_THAT(sparse_refusal({"--density", "1.5"}), HasSubstr("--density 1.5"));
  EXPECT_THAT(sparse_refusal({"--density", "0.1x"}), HasSubstr("--density 0.1x"));
  EXPECT_THAT(sparse_refusal({"--density", "nan"}), HasSubstr("--density nan"));
  EXPECT_THAT(sparse_refusal({"--support", "zip"}), HasSubstr("did you mean zipf?"));
  EXPECT_THAT(sparse_refusal({"--algorithm", "sparse_rng"}),
              HasSubstr("did you mean sparse_ring?"));
  EXPECT_THAT(sparse_refusal({"--dense", "rign"}), HasSubstr("did you mean ring"));
  EXPECT_THAT(sparse_refusal({"--dtype", "fp33"}), HasSubstr("no element type \"fp33\""));
  EXPECT_THAT(sparse_refusal({"--dtype", "bool"}), HasSubstr("no sums"));
  EXPECT_THAT(sparse_refusal({"-np", "40", "--dtype", "float8_e5m2"}),
              HasSubstr("at most 8 ranks"));
  EXPECT_THAT(sparse_refusal({"-np", "4", "--support", "disjoint", "--density", "0.5"}),
              HasSubstr("none in common"));
  EXPECT_THAT(sparse_refusal({"--set", "novalue"}), HasSubstr("write key=value"));
  EXPECT_THAT(sparse_refusal({"--set", "algorithm=ring"}),
              HasSubstr("use --algorithm and --dense"));
  EXPECT_THAT(sparse_refusal({"--transport", "tpc"}), HasSubstr("transport"));
  EXPECT_THAT(sparse_refusal({"--plot", "x.png"}), HasSubstr("FILE.svg"));
  EXPECT_THAT(sparse_refusal({"--repeat", "0"}), HasSubstr("--repeat"));
  EXPECT_THAT(sparse_refusal({"--nonsense"}), HasSubstr("--nonsense"));
}

}  // namespace
}  // namespace unisono::tools
