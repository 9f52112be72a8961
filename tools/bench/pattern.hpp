// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The contents of the buffers and what each collective must make of them. Values are small
// integers, so that every sum is exact in every element type and a result is right or wrong, bit
// for bit. The peers' workers compute the same in tools/peers/bench_peer.py.
//
// Element j of rank r holds (j + 3r + seed) mod m, but the first element of every 4 KiB holds
// (r + iteration + seed) mod m: it changes from iteration to iteration.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "bench/settings.hpp"

namespace unisono::tools {

// The bits of a small non-negative integer as one element.
std::vector<std::byte> encode_small(DType dtype, int value);
// The maximum number of ranks whose sum stays exact.
int ranks_checkable(DType dtype);

class Pattern {
 public:
  Pattern(Work work, int ranks, int rank);

  // Fills everything, before a block.
  void fill(std::span<std::byte> input, int seed, int iteration) const;
  // Updates the elements that change, before an iteration.
  void touch(std::span<std::byte> input, int seed, int iteration) const;
  std::size_t result_bytes() const;
  bool right(std::span<const std::byte> result, int seed, int iteration) const;

 private:
  // Elements [first, first + count) of rank `source`'s input, or of the sum when source < 0.
  struct Part {
    int source;
    std::size_t first, count;
  };
  std::vector<Part> parts() const;
  int value(int source, std::size_t phase, int seed) const;
  int touched(int source, int seed, int iteration) const;

  Work work_;
  int ranks_, rank_, modulus_;
  std::size_t width_, stride_;               // bytes of an element; elements in 4 KiB
};

}  // namespace unisono::tools
