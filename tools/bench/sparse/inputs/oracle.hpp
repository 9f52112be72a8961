// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What ranks bring, and what their sum must be, known to every rank from the supports of all.
//
// The value of rank r at index i is 1 to 4, by a hash of both, and one more in every other round, so
// that a result of the round before is found. No value is 0, and sums of small whole numbers are exact
// in every dtype: a result is right or wrong, bit for bit.
// Thread: one.
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
  std::uint64_t largest = 0;                // > 0: so many of the largest sums alone, ties by index
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
  std::uint32_t sum_at(std::uint64_t at, int round) const {
    return static_cast<std::uint32_t>(sums_[at]) + (round % 2 != 0 ? counts_[at] : 0U);
  }
  int value_at(int rank, std::uint32_t index, int round) const;
  Status check_near(const FoundResult& result, int round, int levels) const;
  Status check_largest(const FoundResult& result, int round, std::uint64_t kept) const;
  template <typename Bits>
  Status compare(const FoundResult& result, int round) const;
  Status wrong(std::uint64_t at, std::uint32_t expected, double got) const;
  double read(std::span<const std::byte> values, std::size_t at) const;

  DType dtype_;
  std::uint64_t length_, seed_;
  int most_;                                // of one rank, in even rounds
  bool alternates_;
  std::vector<std::uint16_t> sums_, counts_;  // by index, in even rounds; of ranks that have it
  std::uint64_t nnz_out_ = 0;
  std::vector<std::uint64_t> bits_;         // of the elements 0, 1, 2, ...
};

}  // namespace unisono::tools
