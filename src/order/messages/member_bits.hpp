// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A set of member indices: one word up to 64 members, more words beyond. A value.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace unisono::order {

class MemberBits {
 public:
  explicit MemberBits(int members) {
    if (members > 64) rest_.resize((static_cast<std::size_t>(members) - 1) / 64);
  }

  bool test(int index) const { return (word(index / 64) >> (index % 64) & 1) != 0; }
  void set(int index) { set_word(index / 64, std::uint64_t{1} << (index % 64)); }
  // Both ends included.
  void set_range(int first, int last) {
    for (int w = first / 64; w <= last / 64; ++w) {
      std::uint64_t bits = ~std::uint64_t{0};
      if (w == first / 64) bits &= ~std::uint64_t{0} << (first % 64);
      if (w == last / 64) bits &= ~std::uint64_t{0} >> (63 - last % 64);
      set_word(w, bits);
    }
  }
  int count() const { return count_; }
  bool empty() const { return count_ == 0; }
  void add(const MemberBits& other) {
    for (int w = 0; w < words(); ++w) set_word(w, other.word(w));
  }
  void remove(const MemberBits& other) {
    for (int w = 0; w < words(); ++w) {
      std::uint64_t& bits = word(w);
      count_ -= std::popcount(bits & other.word(w));
      bits &= ~other.word(w);
    }
  }
  bool meets(const MemberBits& other) const {
    for (int w = 0; w < words(); ++w) {
      if ((word(w) & other.word(w)) != 0) return true;
    }
    return false;
  }
  bool within(const MemberBits& other) const {
    for (int w = 0; w < words(); ++w) {
      if ((word(w) & ~other.word(w)) != 0) return false;
    }
    return true;
  }
  // Calls visit(index) in ascending order.
  template <typename Visit>
  void each(Visit visit) const {
    for (int w = 0; w < words(); ++w) {
      for (std::uint64_t bits = word(w); bits != 0; bits &= bits - 1) {
        visit(w * 64 + std::countr_zero(bits));
      }
    }
  }
  // How many are in a, in b, or in both.
  static int union_count(MemberBits a, const MemberBits& b) {
    a.add(b);
    return a.count_;
  }
  friend bool operator==(const MemberBits&, const MemberBits&) = default;

 private:
  int words() const { return 1 + static_cast<int>(rest_.size()); }
  std::uint64_t word(int w) const {
    return w == 0 ? first_ : rest_[static_cast<std::size_t>(w) - 1];
  }
  std::uint64_t& word(int w) { return w == 0 ? first_ : rest_[static_cast<std::size_t>(w) - 1]; }
  void set_word(int w, std::uint64_t bits) {
    std::uint64_t& kept = word(w);
    count_ += std::popcount(bits & ~kept);
    kept |= bits;
  }

  std::uint64_t first_ = 0;
  std::vector<std::uint64_t> rest_;
  int count_ = 0;
};

// Who sent the same thing at once: one member, or the many of a subtree. Refers to the many.
class Senders {
 public:
  Senders(int one) : one_(one) {}       // NOLINT: implicit on purpose
  Senders(const MemberBits& many) : many_(&many) {}  // NOLINT: implicit on purpose

  bool single() const { return many_ == nullptr; }
  bool meet(const MemberBits& bits) const {
    return many_ == nullptr ? bits.test(one_) : many_->meets(bits);
  }
  void add_to(MemberBits& bits) const {
    if (many_ == nullptr) {
      bits.set(one_);
    } else {
      bits.add(*many_);
    }
  }
  template <typename Visit>
  void each(Visit visit) const {
    if (many_ == nullptr) {
      visit(one_);
    } else {
      many_->each(visit);
    }
  }
  int first() const {
    int first = -1;
    each([&](int member) { first = first < 0 ? member : first; });
    return first;
  }

 private:
  int one_ = -1;
  const MemberBits* many_ = nullptr;
};

}  // namespace unisono::order
