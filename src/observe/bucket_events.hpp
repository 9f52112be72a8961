// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The events of a trace: a track per rank, with lanes for negotiating, waiting for others and
// moving. The slice of a bucket says all that is known of it, so that tools read nothing else; its
// times are relative to its own, so that whoever aligns clocks shifts "ts" alone. docs/TRACES.md
// has the form.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "observe/event_file.hpp"
#include "observe/timings.hpp"

namespace unisono::observe {

class BucketEvents {
 public:
  // Slices of one lane must not overlap. Beyond so many at once they do, in the last one.
  static constexpr std::size_t kLanesMax = 32;

  explicit BucketEvents(Rank rank) : rank_(rank) {}
  // Adds the events of one bucket: all its tensors, in their order.
  void write(std::span<const TensorTiming> bucket, EventFile& file);

 private:
  enum Kind : std::size_t { negotiate, wait, move, kKinds };
  // Returns the row of the lane that is free from `begin` on, and takes it until `end`.
  int lane(Kind kind, Time begin, Time end, EventFile& file);
  void slice(Kind kind, int row, std::string_view name, Time begin, Time end, EventFile& file);

  const Rank rank_;
  std::array<std::vector<Time>, kKinds> free_from_;
};

}  // namespace unisono::observe
