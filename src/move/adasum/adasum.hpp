// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Adasum: adds gradients that point in different directions and averages those that agree.
//   adasum(a, b) = (1 - a.b / 2|a|²) a + (1 - a.b / 2|b|²) b,   a factor is 1 where its norm is 0
// It goes over a tree in member order: it combines the first h members with the others, where h is
// the largest power of two below their number, and does the same on each side. Each tensor is
// treated alone, whatever travels with it.
//
// The result is a linear combination of the members' vectors, and its factors follow from their dot
// products alone. So each member measures one slice of every tensor, the dot products are added up
// in member order, everyone walks the tree over them, and each member combines its slice. The
// slices depend only on the tensor and the number of members: results change neither with what is
// fused nor with how the bytes move. Pure; thread: any.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "move/message/patterns.hpp"
#include "unisono/types.hpp"

namespace unisono::move::adasum {

// The factor of each of n members, from the gram matrix of their vectors (kernels/linear.hpp).
std::vector<double> factors(std::size_t n, std::span<const double> gram);

// One tensor's slice in a share. offset is in bytes from where the memory of its owner begins.
struct Piece {
  std::size_t tensor = 0;
  std::size_t offset = 0;
  std::size_t elements = 0;
};

// Shares lie back to back, one per member, each a slice of every tensor. Calls body(member, tensor,
// slice of its elements, offset in bytes) in the order of the bytes.
template <typename Body>
void for_pieces(std::span<const std::size_t> counts, std::size_t members, std::size_t element,
                Body body) {
  std::size_t offset = 0;
  for (std::size_t member = 0; member < members; ++member) {
    for (std::size_t tensor = 0; tensor < counts.size(); ++tensor) {
      const auto slice = patterns::slice_of(counts[tensor], static_cast<int>(members),
                                            static_cast<int>(member));
      body(member, tensor, slice, offset);
      offset += slice.count() * element;
    }
  }
}
std::vector<std::size_t> share_bytes(std::span<const std::size_t> counts, std::size_t members,
                                     std::size_t element);
// One member's pieces, with offsets from where its share begins.
std::vector<Piece> own_pieces(std::span<const std::size_t> counts, std::size_t members,
                              std::size_t me, std::size_t element);

// One member's part of the work: the same slice of every tensor of a bucket, from all members.
// measure() and combine() do a bounded amount of work and say whether all of it is done.
class Share {
 public:
  Share(DType dtype, std::size_t members, std::size_t tensors, std::vector<Piece> pieces);

  // bases: where the pieces of each member begin.
  bool measure(std::span<const std::byte* const> bases);
  // What measure() found: one gram matrix per tensor.
  std::span<double> grams() { return grams_; }
  // Takes the sum of all members' grams.
  void decide(std::span<const double> grams);
  // Writes the combined pieces at their offsets from out, which may be one of the bases.
  bool combine(std::span<const std::byte* const> bases, std::byte* out);
  const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  template <typename Body>
  bool some_of_all(Body body);

  const DType dtype_;
  const std::size_t members_;
  const std::vector<Piece> pieces_;
  std::vector<double> grams_, factors_;     // tensor by tensor
  std::size_t piece_ = 0, element_ = 0;     // how far the step is
};

}  // namespace unisono::move::adasum
