// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The smallest pieces, too small for files of their own: Fd, the clock, hashes, checks, the log.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/os/fd.hpp"
#include "base/data/hash.hpp"
#include "base/log.hpp"

namespace unisono {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) != -1; }

TEST(Fd, ClosesWhatItOwnsOnce) {
  int raw;
  {
    Fd a(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    raw = a.get();
    Fd b = std::move(a);
    EXPECT_TRUE(is_open(raw));
    EXPECT_EQ(b.get(), raw);
    Fd c;
    c = std::move(b);
    EXPECT_TRUE(is_open(raw));
  }
  EXPECT_FALSE(is_open(raw));
}

TEST(Fd, ReleaseGivesUpOwnership) {
  Fd a(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int raw = a.release();
  a.reset();
  EXPECT_TRUE(is_open(raw));
  ::close(raw);
}

TEST(Clock, ManualTimeMovesOnlyWhenTold) {
  ManualClock clock;
  const Time start = clock.now();
  EXPECT_EQ(clock.now(), start);
  clock.advance(seconds_to_nanos(1.5));
  EXPECT_EQ(nanos_to_seconds(clock.now() - start), 1.5);
  EXPECT_LT(clock.now(), kNever);
}

TEST(Hash, DependsOnContentAndSeed) {
  EXPECT_EQ(hash_text("abc"), hash_text("abc"));
  EXPECT_NE(hash_text("abc"), hash_text("abd"));
  EXPECT_NE(hash_text("abc", 1), hash_text("abc", 2));
  EXPECT_EQ(hash_text("abc"), hash_bytes(std::as_bytes(std::span("abc", 3))));
}

TEST(CheckDeathTest, EndsTheProcessAndNamesTheCondition) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  UNISONO_CHECK(1 + 1 == 2);
  EXPECT_DEATH(UNISONO_CHECK(1 + 1 == 3), "internal check failed: 1 \\+ 1 == 3");
}

TEST(Log, WritesLevelsThatAreEnabledAsOneLine) {
  set_log(LogLevel::info);
  testing::internal::CaptureStderr();
  log_line(LogLevel::debug, "hidden");
  log_line(LogLevel::info, "shown");
  log_line(LogLevel::error, "too");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "unisono info: shown\nunisono error: too\n");
  set_log(LogLevel::off);
  EXPECT_FALSE(log_enabled(LogLevel::error));
  set_log(LogLevel::warn);
}

TEST(Log, KnowsItsLevelsByName) {
  EXPECT_EQ(log_level_from("debug"), LogLevel::debug);
  EXPECT_EQ(log_level_from("off"), LogLevel::off);
  EXPECT_EQ(log_level_from("verbose"), LogLevel::warn);
}

}  // namespace
}  // namespace unisono
