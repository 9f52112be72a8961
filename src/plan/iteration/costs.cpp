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
    per_byte_s_.push_back((points_[i].seconds - points_[i - 1].seconds) /
                          static_cast<double>(points_[i].bytes - points_[i - 1].bytes));
  }
  per_byte_s_.push_back(per_byte_s_.empty() ? 0 : per_byte_s_.back());
}

double PointsCost::seconds(std::int64_t bytes) const {
  std::size_t at = points_.size() - 1;
  while (at > 0 && bytes < points_[at].bytes) --at;
  const Point& from = points_[at];
  if (bytes <= from.bytes) return from.seconds;
  const double seconds = from.seconds + per_byte_s_[at] * static_cast<double>(bytes - from.bytes);
  // Rounding must not lift the end of a part above the point behind it.
  return at + 1 < points_.size() ? std::min(seconds, points_[at + 1].seconds) : seconds;
}

void charge_bursts(std::vector<PointsCost::Point>& points, std::int64_t most) {
  double per_byte_s = 0;
  for (auto point = points.rbegin(); point != points.rend(); ++point) {
    if (point->bytes > most || point->bytes <= 0) continue;
    const auto bytes = static_cast<double>(point->bytes);
    point->seconds = std::max(point->seconds, per_byte_s * bytes);
    per_byte_s = point->seconds / bytes;
  }
}

double HalfCost::seconds(std::int64_t bytes) const { return whole_.seconds(bytes) / 2; }

std::optional<Line> HalfCost::line() const {
  const std::optional<Line> whole = whole_.line();
  if (!whole) return std::nullopt;
  return Line{whole->latency_s / 2, whole->per_byte_s / 2};
}

}  // namespace unisono::plan
