// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/move_times.hpp"

#include <gtest/gtest.h>

namespace unisono::run {
namespace {

double line(std::int64_t bytes) { return 1e-5 + 1e-9 * static_cast<double>(bytes); }

double at(const std::vector<MoveTimes::Point>& points, std::int64_t bytes) {
  for (const MoveTimes::Point& point : points) {
    if (point.bytes == bytes) return point.seconds;
  }
  return -1;
}

TEST(MoveTimes, AreThoseOfTheModelBeforeAnythingWasMeasured) {
  const auto points = MoveTimes().points(line);
  ASSERT_EQ(points.size(), 21u);
  for (const auto& point : points) EXPECT_DOUBLE_EQ(point.seconds, line(point.bytes));
}

TEST(MoveTimes, TheNearestMeasuredSizeCorrectsTheModel) {
  MoveTimes times;
  times.note(1 << 12, Nanos(static_cast<std::int64_t>(2e9 * line(1 << 12))));
  times.note(1 << 20, Nanos(static_cast<std::int64_t>(4e9 * line(1 << 20))));
  const auto points = times.points(line);
  EXPECT_NEAR(at(points, 1 << 12) / line(1 << 12), 2, 1e-3);
  EXPECT_NEAR(at(points, 1 << 20) / line(1 << 20), 4, 1e-3);
  EXPECT_NEAR(at(points, 1 << 10) / line(1 << 10), 2, 1e-3);
  EXPECT_NEAR(at(points, 1 << 28) / line(1 << 28), 4, 1e-3);
}

TEST(MoveTimes, TheLeastOfTheLastFewCountsAndOldOnesAreForgotten) {
  MoveTimes times;
  const auto note = [&](double factor) {
    times.note(1 << 16, Nanos(static_cast<std::int64_t>(factor * 1e9 * line(1 << 16))));
  };
  note(1);
  for (const double late : {30.0, 2.0, 9.0}) note(late);
  EXPECT_NEAR(at(times.points(line), 1 << 16) / line(1 << 16), 1, 1e-3);
  for (int i = 0; i < 8; ++i) note(3);
  EXPECT_NEAR(at(times.points(line), 1 << 16) / line(1 << 16), 3, 1e-3);
}

TEST(MoveTimes, AStartUpIsNotDividedAmongTheBytesOfALargerBucket) {
  const auto model = [](std::int64_t bytes) { return 1e-3 + 1e-9 * static_cast<double>(bytes); };
  MoveTimes times;
  times.note(2000, Nanos(1'002'000));
  times.note(64, Nanos(1'000'064));
  EXPECT_NEAR(at(times.points(model), 1024), model(1024), 1e-9);
}

TEST(MoveTimes, EmptyAndHugeBucketsDoNoHarm) {
  MoveTimes times;
  times.note(0, Nanos(5));
  times.note(7, Nanos(0));
  times.note(std::size_t{1} << 40, Nanos(5'000'000'000));
  for (const auto& point : times.points(line)) EXPECT_GT(point.seconds, 0);
}

TEST(MoveTimes, WaitingForARankThatIsAlwaysLateDoesNotCount) {
  const double seconds = line(1 << 16);
  const auto nanos = [](double s) { return Nanos(static_cast<std::int64_t>(1e9 * s)); };
  MoveTimes times;
  const auto planned = MoveTimes::sample_of(false, true);
  times.note(1 << 16, nanos(seconds), MoveTimes::sample_of(false, false));  // it was negotiated
  for (int step = 0; step < 100; ++step) times.note(1 << 16, nanos(seconds + 0.02), planned);
  EXPECT_NEAR(at(times.points(line), 1 << 16) / seconds, 1, 1e-3);
  // Once this rank itself comes last there is nothing in it but moving.
  times.note(1 << 16, nanos(0.5 * seconds), planned);
  EXPECT_NEAR(at(times.points(line), 1 << 16) / seconds, 0.5, 1e-3);
  // Something is better than nothing.
  times.note(1 << 24, nanos(3 * line(1 << 24)), planned);
  EXPECT_NEAR(at(times.points(line), 1 << 24) / line(1 << 24), 3, 1e-3);
}

TEST(MoveTimes, WhereTheLastArrivalIsKnownLaterTimesReplaceEarlierOnes) {
  MoveTimes times;
  times.note(1 << 16, Nanos(1000), MoveTimes::sample_of(true, true));
  for (int step = 0; step < 8; ++step) {
    times.note(1 << 16, Nanos(5000), MoveTimes::sample_of(true, true));
  }
  EXPECT_NEAR(at(times.points(line), 1 << 16), 5e-6, 1e-9);
}

}  // namespace
}  // namespace unisono::run
