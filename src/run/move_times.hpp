// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How long buckets keep a channel busy, by size: what was measured where something was, and
// elsewhere a model, corrected by what it was off at the nearest size that was measured.
//
// A sample also holds how much later the others came, where that cannot be told from moving. The
// least of the last few stands for all of them: sooner or later this rank is the last to come.
// Thread: the engine's driver.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/clock.hpp"

namespace unisono::run {

class MoveTimes {
 public:
  struct Point {
    std::int64_t bytes = 0;
    double seconds = 0;
  };
  using Model = std::function<double(std::int64_t bytes)>;  // seconds, more than 0

  void note(std::size_t bytes, Nanos busy);
  // One point for each power of two from 1 KiB to 1 GiB.
  std::vector<Point> points(const Model& model) const;

 private:
  static constexpr int kFirst = 10, kLast = 30;  // powers of two
  static constexpr std::size_t kKept = 8;
  struct Samples {
    std::array<double, kKept> seconds{};
    std::size_t count = 0;              // ever
    double bytes = 0;                   // of the last
  };
  std::array<Samples, kLast - kFirst + 1> by_power_;
};

}  // namespace unisono::run
