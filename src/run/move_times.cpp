// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/move_times.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <optional>

namespace unisono::run {

// A size belongs to the power of two that is nearest below it, or to the first.
void MoveTimes::note(std::size_t bytes, Nanos busy) {
  if (bytes == 0 || busy <= Nanos{0}) return;
  const int power = std::clamp(static_cast<int>(std::bit_width(bytes)) - 1, kFirst, kLast);
  Samples& samples = by_power_[static_cast<std::size_t>(power - kFirst)];
  samples.seconds[samples.count++ % kKept] =
      static_cast<double>(busy.count()) * 1e-9 / static_cast<double>(bytes);
  samples.bytes = static_cast<double>(bytes);
}

std::vector<MoveTimes::Point> MoveTimes::points(const Model& model) const {
  // By how much the model was off, at each power that was measured.
  std::array<std::optional<double>, kLast - kFirst + 1> off;
  for (std::size_t i = 0; i < by_power_.size(); ++i) {
    const Samples& samples = by_power_[i];
    if (samples.count == 0) continue;
    const auto end = samples.seconds.begin() +
                     static_cast<std::ptrdiff_t>(std::min(samples.count, kKept));
    const double seconds = *std::min_element(samples.seconds.begin(), end) * samples.bytes;
    off[i] = seconds / model(static_cast<std::int64_t>(samples.bytes));
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
