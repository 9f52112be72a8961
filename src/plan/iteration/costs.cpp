// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/iteration/costs.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace unisono::plan {

double Line::seconds(std::int64_t bytes) const {
  return latency_s + per_byte_s * static_cast<double>(bytes);
}

double LineCost::seconds(std::int64_t bytes) const { return line_.seconds(bytes); }

PointsCost::PointsCost(std::vector<Point> points) : points_(std::move(points)) {
  UNISONO_CHECK(!points_.empty());
  for (std::size_t i = 1; i < points_.size(); ++i) {
    UNISONO_CHECK(points_[i - 1].bytes < points_[i].bytes);
    points_[i].seconds = std::max(points_[i].seconds, points_[i - 1].seconds);
  }
}

double PointsCost::seconds(std::int64_t bytes) const {
  if (bytes <= points_.front().bytes || points_.size() == 1) return points_.front().seconds;
  auto right = std::lower_bound(points_.begin() + 1, points_.end(), bytes,
                                [](const Point& p, std::int64_t b) { return p.bytes < b; });
  if (right == points_.end()) --right;
  const Point& from = *(right - 1);
  const double share = static_cast<double>(bytes - from.bytes) /
                       static_cast<double>(right->bytes - from.bytes);
  return from.seconds + (right->seconds - from.seconds) * share;
}

double HalfCost::seconds(std::int64_t bytes) const { return whole_.seconds(bytes) / 2; }

std::optional<Line> HalfCost::line() const {
  const std::optional<Line> whole = whole_.line();
  if (!whole) return std::nullopt;
  return Line{whole->latency_s / 2, whole->per_byte_s / 2};
}

}  // namespace unisono::plan
