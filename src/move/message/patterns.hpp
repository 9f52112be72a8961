// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The arithmetic of who talks to whom, and which bytes are whose. Pure; thread: any.
#pragma once

#include <bit>
#include <cstddef>
#include <numeric>
#include <vector>

namespace unisono::move::patterns {

inline int wrap(int index, int n) { return ((index % n) + n) % n; }
inline int ring_right(int me, int n) { return wrap(me + 1, n); }
inline int ring_left(int me, int n) { return wrap(me - 1, n); }

// How far apart neighbours are on each of several rings: 1, against it and, from five members on
// where there is one, the least stride between that visits all, and against that one.
inline std::vector<int> ring_strides(int n) {
  std::vector<int> strides{1, -1};
  for (int stride = 2; 2 * stride < n; ++stride) {
    if (std::gcd(stride, n) != 1) continue;
    strides.insert(strides.end(), {stride, -stride});
    break;
  }
  return strides;
}

// Elements [begin, end) of one member. Earlier members get the remainder; none is split.
struct Slice {
  std::size_t begin = 0, end = 0;
  std::size_t count() const { return end - begin; }
};

inline Slice slice_of(std::size_t elements, int n, int index) {
  const auto parts = static_cast<std::size_t>(n), i = static_cast<std::size_t>(index);
  const std::size_t each = elements / parts, extra = elements % parts;
  const std::size_t begin = i * each + (i < extra ? i : extra);
  return {begin, begin + each + (i < extra ? 1 : 0)};
}

inline std::size_t segments_in(std::size_t bytes, std::size_t segment_bytes) {
  return bytes / segment_bytes + (bytes % segment_bytes != 0 ? 1 : 0);
}

// Recursive doubling among any number of members. The first 2 * extra members fold in pairs, so
// that a power of two of virtual ranks remains, each standing for a run of neighbouring members,
// in member order.
struct Doubling {
  int n = 1, me = 0;

  int core() const { return static_cast<int>(std::bit_floor(static_cast<unsigned>(n))); }
  int extra() const { return n - core(); }
  bool folded() const { return me < 2 * extra(); }
  bool sits_out() const { return folded() && me % 2 == 1; }  // sends its part to me - 1 and waits
  int virtual_rank() const { return folded() ? me / 2 : me - extra(); }
  int member_of(int virtual_index) const {
    return virtual_index < extra() ? 2 * virtual_index : virtual_index + extra();
  }
  int rounds() const { return std::countr_zero(static_cast<unsigned>(core())); }
  int partner(int round) const { return member_of(virtual_rank() ^ (1 << round)); }
};

// A binomial tree over members renumbered so that the root is 0: the parent clears the lowest set
// bit; the children set one lower bit each.
struct BinomialTree {
  int n = 1, me = 0, root = 0;

  int position() const { return wrap(me - root, n); }
  int parent() const {  // -1 at the root
    const int at = position();
    return at == 0 ? -1 : wrap((at & (at - 1)) + root, n);
  }
  // How many bits a child may set: the largest subtree is child(child_bits() - 1).
  int child_bits() const {
    const auto at = static_cast<unsigned>(position());
    return at == 0 ? static_cast<int>(std::bit_width(static_cast<unsigned>(n - 1)))
                   : std::countr_zero(at);
  }
  int child(int bit) const {  // -1 when there is none
    const int at = position() + (1 << bit);
    return at < n ? wrap(at + root, n) : -1;
  }
};

// A binary tree over members as a heap has it: the children of position p are 2p+1 and 2p+2. In the
// reversed one members count from the last, so that the inner nodes of one are leaves of the other
// (but for one of them when n is even).
struct BinaryTree {
  int n = 1, me = 0;
  bool reversed = false;

  int at(int position) const { return reversed ? n - 1 - position : position; }  // its own inverse
  int parent() const { return at(me) == 0 ? -1 : at((at(me) - 1) / 2); }  // -1 at the root
  int child(int side) const {               // -1 when there is none
    const int position = 2 * at(me) + 1 + side;
    return position < n ? at(position) : -1;
  }
};

}  // namespace unisono::move::patterns
