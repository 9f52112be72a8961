// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How many buckets are how large; the classes are those of `stats()`.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>

namespace unisono::tools {

struct SizeHistogram {
  static constexpr std::array<const char*, 5> kNames = {"below 4 KiB", "4 to 64 KiB",
                                                        "64 KiB to 1 MiB", "1 to 16 MiB",
                                                        "16 MiB and more"};
  std::array<std::uint64_t, 5> counts{};

  void add(std::uint64_t bytes) {
    counts[bytes < (4 << 10)    ? 0
           : bytes < (64 << 10) ? 1
           : bytes < (1 << 20)  ? 2
           : bytes < (16 << 20) ? 3
                                : 4]++;
  }
  std::uint64_t total() const {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  }
};

}  // namespace unisono::tools
