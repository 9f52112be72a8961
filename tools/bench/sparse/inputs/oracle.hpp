// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What ranks bring, and what their sum must be, known to every rank from the supports of all.
//
// The value of rank r at index i is a whole number from 1 up, by a hash of both. In every other
// round it is negative, or one more where there are no negative numbers, so that a result of the
// round before is found. No value is 0, and the sums are exact in their dtype: a result is right or
// wrong, bit for bit. Thread: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/sparse/inputs/supports.hpp"
#include "unisono/types.hpp"

namespace unisono::tools {

// A result to look at: dense, or with the indices of its values.
struct FoundResult {
  bool dense = false;
  std::span<const std::uint32_t> indices = {};
  std::span<const std::byte> values = {};
};

// What a result may leave out or change.
struct Allowance {
  bool largest = false;  // some sums, of which none is smaller than those left out
  int levels = 0;                           // > 0: dense, off by less than the largest sum over it
};

class SparseOracle {
 public:
  // Whether sums of so many ranks are exact.
  static Status checkable(DType dtype, int ranks);
  SparseOracle(const std::vector<Indices>& supports, std::uint64_t length, DType dtype,
               std::uint64_t seed);

  // Values of a rank at its indices; values has as many elements of the dtype.
  void fill(const Indices& support, int rank, int round, std::span<std::byte> values) const;
  // The same in a dense vector of which all other elements are 0 already.
  void scatter(const Indices& support, int rank, int round, std::span<std::byte> dense) const;
  std::uint64_t nnz_out() const { return nnz_out_; }

  // The error names the first element that is wrong, and what it should have been.
  Status check(const FoundResult& result, int round, const Allowance& allowance = {}) const;

 private:
  bool odd(int round) const { return alternates_ && round % 2 != 0; }
  int sum_at(std::uint64_t at, int round) const {
    if (!odd(round)) return sums_[at];
    return negates_ ? -sums_[at] : sums_[at] + counts_[at];
  }
  std::uint64_t bits_of(int value) const {
    return value >= 0 ? bits_[static_cast<std::size_t>(value)]
                      : negative_[static_cast<std::size_t>(-value)];
  }
  int value_at(int rank, std::uint32_t index, int round) const;
  Status check_near(const FoundResult& result, int round, int levels) const;
  Status check_largest(const FoundResult& result, int round) const;
  template <typename Bits>
  Status compare(const FoundResult& result, int round) const;
  Status wrong(std::uint64_t at, int expected, double got) const;
  double read(std::span<const std::byte> values, std::size_t at) const;

  DType dtype_;
  std::uint64_t length_, seed_;
  int most_;                                // of one rank, in even rounds
  bool alternates_, negates_;
  std::vector<std::uint16_t> sums_, counts_;  // by index, in even rounds; of ranks that have it
  std::uint64_t nnz_out_ = 0;
  std::vector<std::uint64_t> bits_, negative_;  // of the elements 0, 1, 2, ... and 0, -1, -2, ...
};

}  // namespace unisono::tools
