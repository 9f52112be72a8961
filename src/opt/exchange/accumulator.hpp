// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Adds sparse vectors into a dense one and gives what was touched, in ascending order: a bitmap is
// scanned instead of sorting. All zero between two uses. Thread: one, or several on ranges whose
// borders are multiples of kBlock.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace unisono::opt {

class Accumulator {
 public:
  static constexpr std::uint32_t kBlock = 64;

  explicit Accumulator(std::uint32_t length)
      : sums_(length), touched_((static_cast<std::size_t>(length) + kBlock - 1) / kBlock) {}

  void add(std::uint32_t index, float value) {
    sums_[index] += value;
    touched_[index / kBlock] |= std::uint64_t{1} << (index % kBlock);
  }

  // Appends what was touched in [begin, end), and forgets it. begin is a multiple of kBlock.
  void take(std::uint32_t begin, std::uint32_t end, std::vector<std::uint32_t>& indices,
            std::vector<float>& values) {
    const std::size_t last = (static_cast<std::size_t>(end) + kBlock - 1) / kBlock;
    for (std::size_t word = begin / kBlock; word < last; ++word) {
      std::uint64_t bits = touched_[word];
      if (bits == 0) continue;
      touched_[word] = 0;
      for (; bits != 0; bits &= bits - 1) {
        const auto index = static_cast<std::uint32_t>(
            word * kBlock + static_cast<unsigned>(std::countr_zero(bits)));
        indices.push_back(index);
        values.push_back(sums_[index]);
        sums_[index] = 0;
      }
    }
  }

 private:
  std::vector<float> sums_;
  std::vector<std::uint64_t> touched_;
};

}  // namespace unisono::opt
