// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Synthetic classification: points around a few random centres, with noise that makes the classes
// overlap a little. The centres depend on the seed alone, so every rank sees the same problem.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace mlp {

inline constexpr int kInputs = 256;
inline constexpr int kClasses = 10;

struct Batch {
  std::vector<float> points;  // rows of kInputs
  std::vector<int> labels;
};

class Source {
 public:
  // stream tells ranks apart: each draws its own samples.
  Source(std::uint64_t seed, std::uint64_t stream);
  Batch draw(int samples);

 private:
  std::vector<float> centres_;
  std::mt19937_64 random_;
};

}  // namespace mlp
