// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What members tell each other about the iterations they watched, before one of them makes a plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/data/bytes.hpp"

namespace unisono::order {

// A day: what is later in an iteration is not worth planning for, and sums stay far from overflow.
inline constexpr std::uint64_t kReadyMax = 86'400'000'000'000;

// What one member knows of the iterations watched, or many merged. Units count in the order of the
// first of the equal iterations.
struct Lesson {
  std::uint64_t attempt = 0;
  std::uint64_t digest = 0;             // of units and positions: equal on all members
  // By unit: the runs of units it may need, as begin, end, begin, end, ... in order, none empty.
  std::vector<std::vector<std::uint32_t>> needs;
  // By unit: when it was submitted, in nanoseconds since the first of its iteration was. Of one
  // member the median of the iterations; of many, that of the last of them.
  std::vector<std::uint64_t> ready_ns;

  // Adds what the other needs, and waits for its tensors. Returns false when they are not about the
  // same iterations.
  bool merge(const Lesson& other);
  // Whether unit `to` may need unit `from`.
  bool edge(std::size_t from, std::size_t to) const;
  // When there are too many runs to send, each unit keeps one, from its first to its last: what is
  // in between is then needed as well, as far as it comes earlier.
  void shorten();
  void encode(ByteWriter& out) const;
  static Lesson decode(ByteReader& in);  // check in.finished() afterwards
};

}  // namespace unisono::order
