// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How long buckets keep a channel busy, by size: what was measured where something was, and
// elsewhere a model, corrected by what it was off at the nearest size that was measured.
//
// The time counts from when the last member had come. Over shared memory its arrival is seen, and a
// bucket that was negotiated begins when all have it. A planned bucket over messages begins on each
// member as it comes, so its time may hold waiting for the others, in every step where one rank is
// always late: it may only lower what is known, or stand in where nothing is.
// The least of the last few stands for all of them, since this rank may also have been kept waiting
// for a core.
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

  enum class Sample : std::uint8_t { exact, at_most };
  static Sample sample_of(bool over_memory, bool planned) {
    return over_memory || !planned ? Sample::exact : Sample::at_most;
  }
  void note(std::size_t bytes, Nanos busy, Sample sample = Sample::exact);
  // One point for each power of two from 1 KiB to 1 GiB.
  std::vector<Point> points(const Model& model) const;

 private:
  static constexpr int kFirst = 10, kLast = 30;  // powers of two
  static constexpr std::size_t kKept = 8;
  struct Samples {
    std::array<Point, kKept> last{};
    std::size_t count = 0;              // ever

    double least_per_byte() const;      // of those kept; there is one
  };
  std::array<Samples, kLast - kFirst + 1> by_power_;
};

}  // namespace unisono::run
