// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How many random runs a test has time for: instrumented code is slower by more than ten times, and
// make test-long has more time (UNISONO_SEED_FACTOR).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace unisono::order {

inline std::uint64_t affordable_seeds(std::uint64_t all, std::uint64_t least = 1) {
  static const std::uint64_t factor = [] {
    const char* text = std::getenv("UNISONO_SEED_FACTOR");
    return text == nullptr ? 1 : std::max(1ULL, std::strtoull(text, nullptr, 10));
  }();
#ifdef UNISONO_SANITIZED
  all /= 10;
#endif
  return std::max<std::uint64_t>(all * factor, least);
}

}  // namespace unisono::order
