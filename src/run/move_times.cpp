// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/move_times.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <optional>

namespace unisono::run {

double MoveTimes::Samples::least_per_byte() const {
  double least = last.front().seconds / static_cast<double>(last.front().bytes);
  for (std::size_t k = 1; k < std::min(count, kKept); ++k) {
    least = std::min(least, last[k].seconds / static_cast<double>(last[k].bytes));
  }
  return least;
}

// A size belongs to the power of two that is nearest below it, or to the first.
void MoveTimes::note(std::size_t bytes, Nanos busy, Sample sample) {
  if (bytes == 0 || busy <= Nanos{0}) return;
  const int power = std::clamp(static_cast<int>(std::bit_width(bytes)) - 1, kFirst, kLast);
  Samples& samples = by_power_[static_cast<std::size_t>(power - kFirst)];
  const Point point{static_cast<std::int64_t>(bytes), static_cast<double>(busy.count()) * 1e-9};
  if (sample == Sample::at_most && samples.count > 0 &&
      point.seconds / static_cast<double>(bytes) >= samples.least_per_byte()) {
    return;
  }
  samples.last[samples.count++ % kKept] = point;
}

std::vector<MoveTimes::Point> MoveTimes::points(const Model& model) const {
  // By how much the model was off, at each power that was measured.
  std::array<std::optional<double>, kLast - kFirst + 1> off;
  for (std::size_t i = 0; i < by_power_.size(); ++i) {
    const Samples& samples = by_power_[i];
    // Sizes of one power differ, the first has all below it, too, and the start-up is the same for
    // all of them: each is compared with the model at its own size.
    for (std::size_t k = 0; k < std::min(samples.count, kKept); ++k) {
      const double each = samples.last[k].seconds / model(samples.last[k].bytes);
      off[i] = std::min(off[i].value_or(each), each);
    }
  }
  std::vector<Point> points;
  for (int power = kFirst; power <= kLast; ++power) {
    double factor = 1;
    int distance = kLast;
    for (int other = kFirst; other <= kLast; ++other) {
      const auto& known = off[static_cast<std::size_t>(other - kFirst)];
      if (!known || std::abs(other - power) >= distance) continue;
      distance = std::abs(other - power);
      factor = *known;
    }
    const std::int64_t bytes = std::int64_t{1} << power;
    points.push_back({bytes, factor * model(bytes)});
  }
  return points;
}

}  // namespace unisono::run
