// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A seeded generator (SplitMix64): the same seed gives the same numbers on every machine.
#pragma once

#include <cstdint>
#include <utility>

namespace unisono::opt {

inline std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}
// One number of two: for generators of their own for each row, rank or epoch.
inline std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  return mixed(mixed(a + 0x9E3779B97F4A7C15ull) ^ (b * 0xD6E8FEB86659FD93ull));
}
inline double as_uniform(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() { return mixed(state_ += 0x9E3779B97F4A7C15ull); }
  double uniform() { return as_uniform(next()); }
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  template <typename Items>
  void shuffle(Items& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  std::uint64_t state_;
};

}  // namespace unisono::opt
