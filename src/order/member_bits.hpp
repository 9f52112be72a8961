// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A set of member indices: one word up to 64 members, more words beyond. A value.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace unisono {

class MemberBits {
 public:
  explicit MemberBits(int members) {
    if (members > 64) rest_.resize((static_cast<std::size_t>(members) - 1) / 64);
  }

  bool test(int index) const { return (word(index) >> (index % 64) & 1) != 0; }
  void set(int index) {
    const std::uint64_t bit = std::uint64_t{1} << (index % 64);
    std::uint64_t& bits = index < 64 ? first_ : rest_[static_cast<std::size_t>(index) / 64 - 1];
    if ((bits & bit) == 0) ++count_;
    bits |= bit;
  }
  int count() const { return count_; }
  void add(const MemberBits& other) {
    first_ |= other.first_;
    count_ = std::popcount(first_);
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      rest_[i] |= other.rest_[i];
      count_ += std::popcount(rest_[i]);
    }
  }
  // How many are in a, in b, or in both.
  static int union_count(MemberBits a, const MemberBits& b) {
    a.add(b);
    return a.count_;
  }
  friend bool operator==(const MemberBits&, const MemberBits&) = default;

 private:
  std::uint64_t word(int index) const {
    return index < 64 ? first_ : rest_[static_cast<std::size_t>(index) / 64 - 1];
  }

  std::uint64_t first_ = 0;
  std::vector<std::uint64_t> rest_;
  int count_ = 0;
};

}  // namespace unisono
