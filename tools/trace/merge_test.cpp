// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/merge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/data/text.hpp"
#include "testing/folder.hpp"
#include "trace/recording.hpp"
#include "trace/testing/events.hpp"

namespace unisono::tools {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;

class Merge : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    const std::string path = in(name);
    std::ofstream(path) << text;
    return path;
  }

  std::string in(const std::string& name) const { return cat(folder_.path(), "/", name); }

  TestFolder folder_;
};

TEST_F(Merge, MakesOneArrayOfTheParts) {
  const auto a = write("a", event_file({clock_line(0, "x", 0, 0), bucket_line(0, 7, 100, 50)}));
  const auto b = write("b", event_file({clock_line(1, "x", 0, 0), bucket_line(1, 7, 110, 40)}));
  auto merged = merge_parts({a, b}, in("all"));
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  EXPECT_EQ(merged->events, 4u);
  EXPECT_EQ(merged->clocks.at(1).by, "the same clock");
  EXPECT_EQ(merged->sizes.total(), 1u) << "each bucket counts once";
  std::ifstream file(in("all"));
  EXPECT_EQ(nlohmann::json::parse(file).size(), 4u);
}

TEST_F(Merge, LosesTheTornLineOfAKilledRankAlone) {
  std::string torn = event_file({clock_line(0, "x", 0, 0), bucket_line(0, 7, 100, 50),
                                 bucket_line(0, 8, 200, 50)});
  torn.resize(torn.size() - 30);
  const auto a = write("a", torn);
  const auto b = write("b", event_file({clock_line(1, "x", 0, 0), bucket_line(1, 7, 110, 40)}));
  const auto empty = write("c", "");
  auto merged = merge_parts({a, b, empty}, in("all"));
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ(merged->events, 4u);
  EXPECT_EQ(merged->lost_lines, 1u);
  auto recording = read_recording(in("all"));
  ASSERT_TRUE(recording.ok()) << recording.status().message();
  EXPECT_EQ(recording->buckets.size(), 2u);
}

TEST_F(Merge, PutsTheTimesOfAnotherHostOnTheClockOfTheLowestRank) {
  // The clock of rank 1 is a second ahead; each exchange bounds that from both sides.
  std::vector<std::string> here{clock_line(0, "x", 0, 0)}, there{clock_line(1, "y", 0, 0)};
  for (int i = 0; i < 50; ++i) {
    const double at = 1000.0 * i;
    here.push_back(bucket_line(0, i, at + i % 7, 60));
    there.push_back(bucket_line(1, i, 1e6 + at + i % 5, 62));
  }
  auto merged = merge_parts({write("a", event_file(here)), write("b", event_file(there))},
                            in("all"));
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ(merged->clocks.at(1).by, "traffic");
  EXPECT_LE(merged->clocks.at(1).uncertain_us, 62);
  auto recording = read_recording(in("all"));
  ASSERT_TRUE(recording.ok()) << recording.status().message();
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_THAT(recording->buckets[50 + i].begun_us - recording->buckets[i].begun_us,
                DoubleNear(0, 70));
  }
  EXPECT_THAT(recording->ranks.at(1).offset_us, DoubleNear(1e6, 62));
}

TEST_F(Merge, OfWhatWasMergedBeforeMovesNothing) {
  const auto a = write("a", event_file({clock_line(0, "x", 0, 0), bucket_line(0, 7, 100, 50)}));
  const auto b = write("b", event_file({clock_line(1, "y", 0, 9e9), bucket_line(1, 7, 9e6, 40)}));
  ASSERT_TRUE(merge_parts({a, b}, in("once")).ok());
  ASSERT_TRUE(merge_parts({in("once")}, in("twice")).ok());
  const auto text_of = [](const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(text_of(in("twice")), text_of(in("once")));
}

TEST_F(Merge, TakesALineThatIsTooDeepForATornOne) {
  const std::string deep = cat("{\"pid\":0,\"x\":", std::string(100'000, '['),
                               std::string(100'000, ']'), "}");
  const auto a = write("a", event_file({clock_line(0, "x", 0, 0), deep}));
  auto merged = merge_parts({a}, in("all"));
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  EXPECT_EQ(merged->lost_lines, 1u);
}

TEST_F(Merge, ReadsAndWritesPlainFilesOnly) {
  const auto a = write("a", event_file({clock_line(0, "x", 0, 0), bucket_line(0, 7, 100, 50)}));
  EXPECT_THAT(merge_parts({a}, "/dev/null").status().message(), HasSubstr("no plain file"));
  EXPECT_THAT(merge_parts({"/dev/null"}, in("all")).status().message(),
              HasSubstr("no plain file"));
}

TEST_F(Merge, SaysWhichPartCannotBeRead) {
  auto missing = merge_parts({in("none")}, in("all"));
  EXPECT_THAT(missing.status().message(), HasSubstr("none: No such file"));
  auto nothing = merge_parts({write("a", "")}, in("all"));
  EXPECT_THAT(nothing.status().message(), HasSubstr("no event is in it"));
  auto nowhere = merge_parts({write("a", event_file({bucket_line(0, 1, 2, 3)}))},
                             in("no/folder"));
  EXPECT_THAT(nowhere.status().message(), HasSubstr("cannot write"));
}

TEST(Clocks, FollowDriftFromOneStretchToTheNext) {
  // 50 millionths: after 100 s the second clock is 5 ms further ahead than at the beginning.
  std::map<int, RankClock> ranks;
  ranks[0].clock = "x";
  ranks[1].clock = "y";
  const auto second = [](double us) { return 3e6 + us * (1 + 50e-6); };
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const double at = 1e4 * static_cast<double>(i);
    ranks[0].exchanges.push_back({0, i, at, at + 100});
    ranks[1].exchanges.push_back({0, i, second(at + 10), second(at + 110)});
  }
  const auto offsets = align_clocks(ranks);
  for (const double at : {1e6, 5e7, 9.9e7}) {
    EXPECT_NEAR(second(at) - offsets.at(1).at(second(at)), at, 400) << at;
  }
  EXPECT_LT(offsets.at(1).uncertain_us, 400);
}

TEST(Clocks, FallBackToTheWallClockWhereRanksHaveNothingInCommon) {
  std::map<int, RankClock> ranks{{0, {"x", 100, 1000, {}}}, {3, {"y", 700, 1500, {}}}};
  const auto offsets = align_clocks(ranks);
  EXPECT_EQ(offsets.at(3).by, "wall clock");
  EXPECT_LT(offsets.at(3).uncertain_us, 0);
  EXPECT_EQ(700 - offsets.at(3).at(700), 600) << "500 µs of wall time after 100";
}

}  // namespace
}  // namespace unisono::tools
