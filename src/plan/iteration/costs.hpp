// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the bytes of a bucket take, as planners see it: any function that never falls as bytes grow.
// A straight line can be recognised as one, for which faster planning exists. All ranks get the
// same bits from the same figures: only +, -, * and /, compiled without fusing them.
// Pure; thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace unisono::plan {

struct Line {
  double latency_s = 0;                 // of an empty bucket
  double per_byte_s = 0;

  double seconds(std::int64_t bytes) const;
};

class SizeCost {
 public:
  virtual ~SizeCost() = default;
  virtual double seconds(std::int64_t bytes) const = 0;
  // The line, when seconds() is one everywhere.
  virtual std::optional<Line> line() const { return std::nullopt; }
};

class LineCost final : public SizeCost {
 public:
  explicit LineCost(Line line) : line_(line) {}
  double seconds(std::int64_t bytes) const override;
  std::optional<Line> line() const override { return line_; }

 private:
  Line line_;
};

// Straight between measured points and on beyond the last one; constant before the first. A point
// below its predecessor is lifted to it.
class PointsCost final : public SizeCost {
 public:
  struct Point {
    std::int64_t bytes = 0;
    double seconds = 0;
  };
  explicit PointsCost(std::vector<Point> points);  // ascending in bytes, at least one
  double seconds(std::int64_t bytes) const override;

 private:
  std::vector<Point> points_;
  std::vector<double> per_byte_s_;      // from each point on; of the last, as before it
};

// A buffer on the way, as shapers and adapters have, lets something short through at once, but only
// after a pause; of many short buckets in a row each waits for those before it. So lifts each point of
// up to `most` bytes to what it takes as a part of the longer ones among them: nothing seems cheaper
// because it was cut.
void charge_bursts(std::vector<PointsCost::Point>& points, std::int64_t most);

// Half of another cost, which outlives it: each half of an allreduce where nothing better is known.
class HalfCost final : public SizeCost {
 public:
  explicit HalfCost(const SizeCost& whole) : whole_(whole) {}
  double seconds(std::int64_t bytes) const override;
  std::optional<Line> line() const override;

 private:
  const SizeCost& whole_;
};

}  // namespace unisono::plan
