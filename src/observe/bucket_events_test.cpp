// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>

#include "base/data/text.hpp"
#include "base/os/text_file.hpp"
#include "observe/timeline.hpp"

namespace unisono::observe {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Trace : public testing::Test {
 protected:
  Trace() { std::remove(path_.c_str()); }
  ~Trace() override { std::remove(path_.c_str()); }
  std::string text() const { return text_of_file(path_, 1 << 20).value_or(""); }
  static Stations stations(std::int64_t submitted) {
    return {{submitted}, {20'000}, {30'000}, {40'000}, {50'000}, {60'000}, {70'000}};
  }

  const std::string path_ = cat(testing::TempDir(), "unisono_trace_test.", ::getpid(), ".json");
  Timings timings_;
};

TEST_F(Trace, HasASliceForEachBucketWithItsTensorsByTheirWholeNames) {
  const std::string long_name = std::string(80, 'n') + "\xff";
  auto trace = Timeline::open(path_, 0, "here", timings_, Timeline::Form::trace);
  ASSERT_TRUE(trace.ok());
  {
    Timings::Batch batch(timings_);
    batch.add(long_name, Collective::allreduce, 8, 2, 3, stations(10'000));
    batch.add("b", Collective::allreduce, 4, 2, 3, stations(15'000));
  }
  timings_.add("c", Collective::allreduce, 4, 2, 4, stations(15'000));
  trace->reset();
  EXPECT_THAT(text(), HasSubstr(R"("cat":"bucket","ph":"X","pid":0,"tid":65,"ts":30.000,)"
                                R"("dur":40.000,)"
                                R"("args":{"set":2,"bucket":3,"kind":"allreduce","bytes":12,)"
                                R"("packed_after_us":10.000,"joined_after_us":20.000,)"
                                R"("moved_after_us":30.000,"tensors":[{"name":"nnn)"));
  EXPECT_THAT(text(), HasSubstr(R"({"name":"b","bytes":4,"ready_before_us":15.000,)"
                                R"("agreed_before_us":10.000}]}})"));
  EXPECT_THAT(text(), HasSubstr(std::string(80, 'n') + "\\ufffd +1"));
  EXPECT_THAT(text(), HasSubstr("\"name\":\"negotiate\""));
  EXPECT_THAT(text(), HasSubstr("\"name\":\"wait for others\""));
}

TEST_F(Trace, PutsSlicesThatOverlapIntoLanesOfTheirOwn) {
  auto trace = Timeline::open(path_, 0, "here", timings_, Timeline::Form::trace);
  ASSERT_TRUE(trace.ok());
  for (std::uint64_t bucket = 0; bucket < BucketEvents::kLanesMax + 4; ++bucket)
    timings_.add("t", Collective::allreduce, 4, 0, bucket, stations(10'000));
  trace->reset();
  EXPECT_THAT(text(), HasSubstr("\"name\":\"move 2\""));
  EXPECT_THAT(text(), HasSubstr(cat("\"name\":\"move ", BucketEvents::kLanesMax, "\"")));
  EXPECT_THAT(text(), Not(HasSubstr(cat("\"name\":\"move ", BucketEvents::kLanesMax + 1, "\""))));
}

TEST_F(Trace, IsWholeAfterEveryFlush) {
  auto file = EventFile::open(path_, "trace", 0);
  ASSERT_TRUE(file.ok());
  for (int i = 0; i < 3; ++i) {
    file->add(naming_event("process_name", 0, 0, "x"));
    file->flush();
    EXPECT_THAT(text(), StartsWith("[\n{"));
    EXPECT_THAT(text(), EndsWith("}\n]\n"));
  }
  file->flush();
  EXPECT_THAT(text(), EndsWith("}\n]\n"));
}

TEST_F(Trace, BelongsToTheFirstThatWritesIt) {
  auto first = EventFile::open(path_, "trace", 0);
  ASSERT_TRUE(first.ok());
  const auto second = EventFile::open(path_, "trace", 0);
  EXPECT_EQ(second.status().code(), Code::unavailable);
  EXPECT_TRUE(first->close().ok());
  EXPECT_TRUE(EventFile::open(path_, "trace", 0).ok());
}

TEST(Microseconds, HaveThreeDecimalsAndASign) {
  EXPECT_EQ(microseconds(Nanos(0)), "0.000");
  EXPECT_EQ(microseconds(Nanos(-1)), "-0.001");
  EXPECT_EQ(microseconds(Nanos(-12'345)), "-12.345");
  EXPECT_EQ(microseconds(Nanos(1'000'007)), "1000.007");
}

TEST(JsonText, EscapesAndReplacesWhatIsNoCharacter) {
  EXPECT_EQ(json_text("a\"b\\c\n"), R"("a\"b\\c\u000a")");
  EXPECT_EQ(json_text("größe 勾配"), "\"größe 勾配\"");
  EXPECT_EQ(json_text("\xc3(\xed\xa0\x80"), R"("\ufffd(\ufffd\ufffd\ufffd")");
  EXPECT_EQ(json_text("\xf0\x9f"), R"("\ufffd\ufffd")");
}

}  // namespace
}  // namespace unisono::observe
