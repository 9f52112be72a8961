// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/arguments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/data/text.hpp"
#include "exit_codes.hpp"
#include "testing/printed.hpp"

namespace unisono::tools {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

BenchSettings bench_settings(const std::vector<std::string>& arguments) {
  const BenchArguments parsed = parse_bench_arguments(arguments);
  EXPECT_EQ(parsed.exit_code, -1) << join_text(arguments, " ");
  return parsed.settings;
}

// What a wrong line is answered with.
std::string bench_complaint(const std::vector<std::string>& arguments) {
  BenchArguments parsed;
  const Printed printed = printed_by([&] { parsed = parse_bench_arguments(arguments); });
  EXPECT_EQ(parsed.exit_code, kWrongUsage) << join_text(arguments, " ");
  EXPECT_EQ(printed.out, "");
  return printed.err;
}

TEST(BenchArguments, SizesAreBytesWithSuffixesInAnyCase) {
  EXPECT_EQ(bench_settings({"allreduce", "--bytes", "8,64K,1m,2GiB,7B"}).sizes,
            (std::vector<std::int64_t>{8, 64 << 10, 1 << 20, std::int64_t{2} << 30, 7}));
}

TEST(BenchArguments, WhatIsNoSizeIsNamedWithTheMend) {
  for (const char* text : {"0", "-5", "8x", "1.5M", "8B..64MiB", "9223372036854775808",
                           "9000000T"}) {
    EXPECT_THAT(bench_complaint({"allreduce", "--bytes", text}),
                HasSubstr(cat("--bytes ", text, ": write sizes above 0 as 8, 64K, 1M or 2G")));
  }
  EXPECT_THAT(bench_complaint({"allreduce", "--bytes", "8,,1M,0K"}), HasSubstr("--bytes 0K:"));
}

TEST(BenchArguments, ALineWithACollectiveAloneIsEnough) {
  const BenchSettings settings = bench_settings({"broadcast"});
  EXPECT_EQ(settings.collective, Collective::broadcast);
  EXPECT_EQ(settings.ranks, 2);
  EXPECT_EQ(settings.sizes.size(), 5U);
  EXPECT_EQ(settings.dtypes, std::vector<DType>{DType::f32});
  EXPECT_EQ(settings.algorithms, std::vector<std::string>{"auto"});
  EXPECT_TRUE(settings.peers.empty());
}

TEST(BenchArguments, RanksAreCountedAsMpirunDoesAndTheLineIsKeptAsTyped) {
  const BenchSettings settings = bench_settings({"allgather", "-np", "4", "--bytes", "8"});
  EXPECT_EQ(settings.ranks, 4);
  EXPECT_EQ(settings.command, "unisono bench allgather -np 4 --bytes 8");
}

TEST(BenchArguments, AMisspeltNameIsAnsweredWithTheOneThatIsMeant) {
  EXPECT_THAT(bench_complaint({"allredcue"}),
              HasSubstr("no collective \"allredcue\"; did you mean allreduce?"));
  EXPECT_THAT(bench_complaint({"allreduce", "--dtype", "fp31"}),
              HasSubstr("no element type \"fp31\"; did you mean fp32?"));
  EXPECT_THAT(bench_complaint({"allreduce", "--peers", "gloo,openmp"}),
              HasSubstr("no peer \"openmp\"; did you mean openmpi?"));
  EXPECT_THAT(bench_complaint({"allreduce", "--algorithm", "rinq"}),
              HasSubstr("no algorithm \"rinq\" for allreduce; did you mean ring?"));
  EXPECT_THAT(bench_complaint({"allreduce", "--transport", "tcpp"}),
              HasSubstr("did you mean tcp?"));
}

TEST(BenchArguments, ANameLikeNoneIsAnsweredWithAllOfThem) {
  constexpr const char* kAll = "ne of allreduce, allgather, broadcast, reducescatter, alltoall";
  EXPECT_THAT(bench_complaint({"sort"}), HasSubstr(kAll));
  EXPECT_THAT(bench_complaint({}), HasSubstr(kAll));
  EXPECT_THAT(bench_complaint({"allreduce", "--peers", "nobody"}),
              HasSubstr("one of openmpi, mpich, gloo, horovod"));
}

TEST(BenchArguments, AllIsEveryElementTypeEveryPeerAndEveryAlgorithm) {
  const BenchSettings settings = bench_settings(
      {"allreduce", "--dtype", "all", "--peers", "all", "--algorithm", "all"});
  EXPECT_EQ(settings.dtypes.size(), static_cast<std::size_t>(kDTypeCount));
  EXPECT_TRUE(std::is_sorted(settings.dtypes.begin(), settings.dtypes.end()));
  EXPECT_EQ(settings.peers, (std::vector<std::string>{"openmpi", "mpich", "gloo", "horovod"}));
  EXPECT_EQ(settings.algorithms.front(), "auto");
  EXPECT_THAT(settings.algorithms, Contains("ring"));
  EXPECT_THAT(settings.algorithms, Contains("recursive_doubling"));
  EXPECT_THAT(settings.algorithms, Not(Contains("all")));
}

TEST(BenchArguments, EveryCollectiveHasItsOwnAlgorithmsToChooseFrom) {
  EXPECT_THAT(bench_complaint({"broadcast", "--algorithm", "ring"}),
              HasSubstr("no algorithm \"ring\" for broadcast; one of auto, all, tree"));
  EXPECT_EQ(bench_settings({"reducescatter", "--algorithm", "all"}).algorithms,
            (std::vector<std::string>{"auto", "direct", "halving", "ring", "hierarchical"}));
}

TEST(BenchArguments, OnlyAnAllreduceIsPersistentAndHasALimit) {
  EXPECT_THAT(bench_complaint({"alltoall", "--persistent"}), HasSubstr("--persistent is for"));
  EXPECT_THAT(bench_complaint({"allgather", "--limit"}), HasSubstr("--limit is the limit of"));
  EXPECT_TRUE(bench_settings({"broadcast", "--explain"}).explain);
  const BenchSettings settings =
      bench_settings({"allreduce", "--persistent", "--limit", "--explain"});
  EXPECT_TRUE(settings.persistent && settings.limit && settings.explain);
  EXPECT_FALSE(bench_settings({"allreduce"}).explain);
}

TEST(BenchArguments, MoreRanksThanATypeSumsExactlyAreRefused) {
  EXPECT_THAT(bench_complaint({"allreduce", "-np", "9", "--dtype", "fp32,float8_e5m2"}),
              HasSubstr("sums of 9 ranks are not exact in float8_e5m2"));
  EXPECT_EQ(bench_settings({"allreduce", "-np", "8", "--dtype", "float8_e5m2"}).ranks, 8);
}

TEST(BenchArguments, APythonBelongsToTheNamedPeer) {
  const BenchSettings settings = bench_settings(
      {"allreduce", "--peer-python", "gloo=/a=b/python", "--peer-python", "mpich=/c"});
  EXPECT_EQ(settings.peer_pythons,
            (std::map<std::string, std::string>{{"gloo", "/a=b/python"}, {"mpich", "/c"}}));
  for (const char* text : {"gloo", "nobody=/c", "=/c"}) {
    EXPECT_THAT(bench_complaint({"allreduce", "--peer-python", text}),
                HasSubstr(cat("--peer-python ", text, ": write NAME=PATH")));
  }
}

TEST(BenchArguments, APlotIsAnSvgOrAPng) {
  EXPECT_THAT(bench_complaint({"allreduce", "--plot", "a.gif"}),
              HasSubstr("--plot a.gif: end the name in .svg or .png"));
  EXPECT_EQ(bench_settings({"allreduce", "--plot", "a.png"}).plot, "a.png");
}

TEST(BenchArguments, NumbersOutOfTheirRangeAreWrongUsage) {
  const std::vector<std::vector<std::string>> lines{
      {"-np", "0"},         {"-np", "1025"},     {"-np", "two"},
      {"-np"},              {"--repetitions", "0"}, {"--min-time", "-1"},
      {"--no-such-option"}};
  for (std::vector<std::string> line : lines) {
    line.insert(line.begin(), "allreduce");
    EXPECT_NE(bench_complaint(line), "") << join_text(line, " ");
  }
}

TEST(BenchArguments, AListNeedsNoCollectiveButRightPeers) {
  const BenchArguments parsed = parse_bench_arguments({"--list"});
  EXPECT_TRUE(parsed.list);
  EXPECT_EQ(parsed.exit_code, -1);
  EXPECT_THAT(bench_complaint({"--list", "--peer-python", "x"}), HasSubstr("write NAME=PATH"));
}

TEST(BenchArguments, HelpIsPrintedAndIsNoError) {
  BenchArguments parsed;
  const Printed printed = printed_by([&] { parsed = parse_bench_arguments({"--help"}); });
  EXPECT_EQ(parsed.exit_code, kSuccess);
  EXPECT_THAT(printed.out, HasSubstr("Exit codes: 0 success"));
  EXPECT_EQ(printed.err, "");
}

}  // namespace
}  // namespace unisono::tools
