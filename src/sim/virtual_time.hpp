// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What both simulations share: when they begin, when a wait counts as a hang, and how seeds and
// digests are mixed. Pure.
#pragma once

#include <cstdint>

namespace unisono::sim {

inline constexpr std::int64_t kBeginNs = 1'000'000;
inline constexpr std::int64_t kPatienceNs = 20'000'000'000;

inline std::int64_t to_ns(double us) { return static_cast<std::int64_t>(us * 1e3); }

inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  a = (a ^ b) * 0x9E3779B97F4A7C15ull;
  return a ^ (a >> 29);
}

// A seed to be mixed with a rank or a step: mixed as it is, rank 2 of seed 1 would have the numbers of
// rank 1 of seed 2.
inline std::uint64_t spread_seed(std::uint64_t seed) { return mix(seed, 0x5EED); }

}  // namespace unisono::sim
