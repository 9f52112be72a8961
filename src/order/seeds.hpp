// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How many random runs a test has time for: instrumented code is slower by more than ten times.
#pragma once

#include <algorithm>
#include <cstdint>

namespace unisono {

constexpr std::uint64_t affordable_seeds(std::uint64_t all, std::uint64_t least = 1) {
#ifdef UNISONO_SANITIZED
  return std::max<std::uint64_t>(all / 10, least);
#else
  return std::max(all, least);
#endif
}

}  // namespace unisono
