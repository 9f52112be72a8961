// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/sparse/inputs/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/data/text.hpp"
#include "bench/pattern.hpp"
#include "opt/job/random.hpp"

namespace unisono::tools {
namespace {

// Few values are alike, so that the largest of them are well defined. Sums are kept in 16 bits.
constexpr int kMostOfARank = 1000;
constexpr int kSumMost = 65'535;

bool has_negatives(DType dtype) {
  return dtype != DType::u8 && dtype != DType::u16 && dtype != DType::u32 && dtype != DType::u64;
}
bool is_integer(DType dtype) { return dtype >= DType::i8 && dtype <= DType::u64; }

std::uint64_t element_bits(DType dtype, int magnitude, bool negative) {
  const auto element = encode_small(dtype, magnitude);
  std::uint64_t bits = 0;
  std::memcpy(&bits, element.data(), element.size());
  const std::size_t width = 8 * element.size();
  if (!negative || magnitude == 0) return bits;
  if (!is_integer(dtype)) return bits | std::uint64_t{1} << (width - 1);
  const std::uint64_t all = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  return (~bits + 1) & all;
}

template <typename Bits>
Bits bits_at(std::span<const std::byte> values, std::size_t at) {
  Bits bits;
  std::memcpy(&bits, values.data() + at * sizeof(Bits), sizeof(Bits));
  return bits;
}

}  // namespace

Status SparseOracle::checkable(DType dtype, int ranks) {
  if (dtype == DType::boolean) {
    return Status(Code::invalid_argument,
                  "booleans have no sums; give --dtype fp32 or another one");
  }
  const int most = std::min(ranks_checkable(dtype), kSumMost / 2);
  if (ranks <= most) return {};
  return Status(Code::invalid_argument,
                cat("sums of ", ranks, " ranks are not exact in ", name_of(dtype),
                    ", so results could not be checked; at most ", most, " ranks"));
}

SparseOracle::SparseOracle(const std::vector<Indices>& supports, std::uint64_t length, DType dtype,
                           std::uint64_t seed)
    : dtype_(dtype), length_(length), seed_(seed), sums_(length), counts_(length) {
  const int ranks = static_cast<int>(supports.size());
  // At most so much of each, for sums that are exact.
  const int each = std::min(ranks_checkable(dtype), kSumMost) / std::max(ranks, 1);
  negates_ = has_negatives(dtype);
  alternates_ = negates_ || each > 1;
  most_ = std::clamp(negates_ ? each : each - 1, 1, kMostOfARank);
  for (int rank = 0; rank < ranks; ++rank) {
    for (const std::uint32_t at : supports[static_cast<std::size_t>(rank)]) {
      sums_[at] = static_cast<std::uint16_t>(sums_[at] + value_at(rank, at, 0));
      nnz_out_ += counts_[at] == 0 ? 1 : 0;
      ++counts_[at];
    }
  }
  for (int value = 0; value <= (most_ + 1) * ranks; ++value) {
    bits_.push_back(element_bits(dtype, value, false));
    if (negates_) negative_.push_back(element_bits(dtype, value, true));
  }
}

int SparseOracle::value_at(int rank, std::uint32_t index, int round) const {
  const std::uint64_t hash =
      opt::mixed(seed_ + static_cast<std::uint64_t>(rank) * 0x9E3779B97F4A7C15ULL, index);
  const int value = 1 + static_cast<int>(hash % static_cast<std::uint64_t>(most_));
  if (!odd(round)) return value;
  return negates_ ? -value : value + 1;
}

void SparseOracle::fill(const Indices& support, int rank, int round,
                        std::span<std::byte> values) const {
  const std::size_t width = size_of(dtype_);
  for (std::size_t i = 0; i < support.size(); ++i) {
    const std::uint64_t bits = bits_of(value_at(rank, support[i], round));
    std::memcpy(values.data() + i * width, &bits, width);
  }
}

void SparseOracle::scatter(const Indices& support, int rank, int round,
                           std::span<std::byte> dense) const {
  const std::size_t width = size_of(dtype_);
  for (const std::uint32_t at : support) {
    const std::uint64_t bits = bits_of(value_at(rank, at, round));
    std::memcpy(dense.data() + at * width, &bits, width);
  }
}

Status SparseOracle::check(const FoundResult& result, int round, const Allowance& allowance) const {
  const std::size_t width = size_of(dtype_);
  const std::size_t elements = result.values.size() / width;
  if (result.dense ? elements != length_ : elements != result.indices.size()) {
    return Status(Code::corrupted, cat("the result has ", elements, " values instead of ",
                                       result.dense ? length_ : result.indices.size()));
  }
  // What is left sparse was not packed.
  if (allowance.levels > 0 && result.dense) return check_near(result, round, allowance.levels);
  if (allowance.largest) return check_largest(result, round);
  switch (width) {
    case 1: return compare<std::uint8_t>(result, round);
    case 2: return compare<std::uint16_t>(result, round);
    case 4: return compare<std::uint32_t>(result, round);
    default: return compare<std::uint64_t>(result, round);
  }
}

template <typename Bits>
Status SparseOracle::compare(const FoundResult& result, int round) const {
  const auto right = [&](std::uint64_t at, std::size_t i) {
    return bits_at<Bits>(result.values, i) == static_cast<Bits>(bits_of(sum_at(at, round)));
  };
  if (result.dense) {
    for (std::uint64_t at = 0; at < length_; ++at) {
      if (!right(at, at)) return wrong(at, sum_at(at, round), read(result.values, at));
    }
    return {};
  }
  std::uint64_t next = 0;
  for (std::size_t i = 0; i < result.indices.size(); ++i) {
    const std::uint64_t at = result.indices[i];
    if (at < next || at >= length_ || counts_[at] == 0) {
      return Status(Code::corrupted, cat("the result has an element ", at, " of ", length_,
                                         at < next ? ", out of turn" : ", which no rank has"));
    }
    if (!right(at, i)) return wrong(at, sum_at(at, round), read(result.values, i));
    next = at + 1;
  }
  if (result.indices.size() == nnz_out_) return {};
  return Status(Code::corrupted,
                cat("the result has ", result.indices.size(), " elements instead of ", nnz_out_));
}

Status SparseOracle::check_near(const FoundResult& result, int round, int levels) const {
  int most = 0;
  for (std::uint64_t at = 0; at < length_; ++at) most = std::max(most, std::abs(sum_at(at, round)));
  const double bound = static_cast<double>(most) / levels * (1 + 1e-5);
  for (std::uint64_t at = 0; at < length_; ++at) {
    const double got = read(result.values, at);
    // What is 0 stays 0.
    if (!(std::abs(got - sum_at(at, round)) <= (counts_[at] == 0 ? 0 : bound))) {
      return wrong(at, sum_at(at, round), got);
    }
  }
  return {};
}

Status SparseOracle::check_largest(const FoundResult& result, int round) const {
  int least_kept = kSumMost + 1, most_left = 0;
  std::size_t i = 0;
  for (std::uint64_t at = 0; at < length_; ++at) {
    const bool there = result.dense || (i < result.indices.size() && result.indices[i] == at);
    const double got = there ? read(result.values, result.dense ? at : i++) : 0;
    const int sum = sum_at(at, round);
    if (got != 0 && got != sum) return wrong(at, sum, got);
    if (got != 0) least_kept = std::min(least_kept, std::abs(sum));
    if (got == 0) most_left = std::max(most_left, std::abs(sum));
  }
  if (!result.dense && i != result.indices.size()) {
    return Status(Code::corrupted, "the result has indices that are out of turn or too large");
  }
  if (least_kept <= kSumMost && least_kept >= most_left) return {};
  return Status(Code::corrupted, least_kept > kSumMost
                                     ? "nothing was kept of the sum"
                                     : cat("a sum of ", most_left, " was left out, one of ",
                                           least_kept, " was kept"));
}

Status SparseOracle::wrong(std::uint64_t at, int expected, double got) const {
  return Status(Code::corrupted, cat("the sum is wrong at element ", at, " of ", length_, ": ", got,
                                     " instead of ", expected));
}

double SparseOracle::read(std::span<const std::byte> values, std::size_t at) const {
  if (dtype_ == DType::f32) {
    float value;
    std::memcpy(&value, values.data() + at * sizeof value, sizeof value);
    return value;
  }
  // Of the others only small whole numbers can be right.
  std::uint64_t bits = 0;
  const std::size_t width = size_of(dtype_);
  std::memcpy(&bits, values.data() + at * width, width);
  const auto found = std::find(bits_.begin(), bits_.end(), bits);
  if (found != bits_.end()) return static_cast<double>(found - bits_.begin());
  const auto below = std::find(negative_.begin(), negative_.end(), bits);
  return below == negative_.end() ? std::nan("") : -static_cast<double>(below - negative_.begin());
}

}  // namespace unisono::tools
