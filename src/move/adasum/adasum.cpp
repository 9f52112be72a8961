// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "move/adasum/adasum.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/check.hpp"
#include "kernels/linear.hpp"

namespace unisono::move::adasum {
namespace {

constexpr std::size_t kElementsAtOnce = 256 * kernels::kGramBlock;

struct Tree {
  std::span<const double> gram;
  std::vector<double> factors;

  // The dot product of what members [a, b) and [c, d) have become. `noise` is how large it may be
  // by rounding alone.
  double product(std::size_t a, std::size_t b, std::size_t c, std::size_t d, double* noise) const {
    double sum = 0, size = 0;
    for (std::size_t i = a; i < b; ++i) {
      for (std::size_t j = c; j < d; ++j) {
        const double term = factors[i] * factors[j] * gram[kernels::gram_index(i, j)];
        sum += term;
        size += std::abs(term);
      }
    }
    if (noise != nullptr) {
      *noise = b - a == 1
                   ? 0
                   : size * static_cast<double>(b - a) * std::numeric_limits<double>::epsilon();
    }
    return sum;
  }

  void scale(std::size_t a, std::size_t b, double shared) {
    double noise = 0;
    const double norm = product(a, b, a, b, &noise);
    // Vectors that have cancelled each other out count as zero, though their sum is not quite zero.
    if (norm <= noise) return;
    const double factor = 1.0 - shared / (2.0 * norm);
    for (std::size_t i = a; i < b; ++i) pending[i] = factor * factors[i];
  }

  void combine(std::size_t first, std::size_t last) {
    if (last - first < 2) return;
    const std::size_t middle = first + std::bit_floor(last - first - 1);
    combine(first, middle);
    combine(middle, last);
    const double shared = product(first, middle, middle, last, nullptr);
    pending = factors;
    scale(first, middle, shared);
    scale(middle, last, shared);
    factors.swap(pending);
  }

  std::vector<double> pending;
};

}  // namespace

std::vector<double> factors(std::size_t n, std::span<const double> gram) {
  UNISONO_CHECK(gram.size() == kernels::gram_size(n));
  Tree tree{gram, std::vector<double>(n, 1.0), {}};
  tree.combine(0, n);
  return std::move(tree.factors);
}

std::vector<std::size_t> share_bytes(std::span<const std::size_t> counts, std::size_t members,
                                     std::size_t element) {
  std::vector<std::size_t> bytes(members);
  for_pieces(counts, members, element,
             [&](std::size_t member, std::size_t, patterns::Slice slice, std::size_t) {
               bytes[member] += slice.count() * element;
             });
  return bytes;
}

std::vector<Piece> own_pieces(std::span<const std::size_t> counts, std::size_t members,
                              std::size_t me, std::size_t element) {
  std::vector<Piece> pieces;
  std::size_t start = 0;
  for_pieces(
      counts, members, element,
      [&](std::size_t member, std::size_t tensor, patterns::Slice slice, std::size_t offset) {
        if (member != me) return;
        if (pieces.empty()) start = offset;
        pieces.push_back({tensor, offset - start, slice.count()});
      });
  return pieces;
}

Share::Share(DType dtype, std::size_t members, std::size_t tensors, std::vector<Piece> pieces)
    : dtype_(dtype),
      members_(members),
      pieces_(std::move(pieces)),
      grams_(tensors * kernels::gram_size(members)) {}

// Runs body(piece, inputs' offset, elements) over the next run of elements.
template <typename Body>
bool Share::some_of_all(Body body) {
  std::size_t budget = kElementsAtOnce;
  while (piece_ < pieces_.size() && budget > 0) {
    const Piece& piece = pieces_[piece_];
    const std::size_t some = std::min(kElementsAtOnce, piece.elements - element_);
    body(piece, piece.offset + element_ * size_of(dtype_), some);
    budget -= std::min(budget, some + 1);
    element_ += some;
    if (element_ < piece.elements) continue;
    element_ = 0;
    ++piece_;
  }
  if (piece_ < pieces_.size()) return false;
  piece_ = 0;
  return true;
}

bool Share::measure(std::span<const std::byte* const> bases) {
  std::vector<const void*> inputs(members_);
  const std::size_t size = kernels::gram_size(members_);
  return some_of_all([&](const Piece& piece, std::size_t offset, std::size_t elements) {
    for (std::size_t i = 0; i < members_; ++i) inputs[i] = bases[i] + offset;
    kernels::add_gram(dtype_, inputs, elements,
                      std::span(grams_).subspan(piece.tensor * size, size));
  });
}

void Share::decide(std::span<const double> grams) {
  const std::size_t size = kernels::gram_size(members_);
  UNISONO_CHECK(grams.size() == grams_.size());
  factors_.clear();
  for (std::size_t at = 0; at < grams.size(); at += size) {
    const auto tensor = factors(members_, grams.subspan(at, size));
    factors_.insert(factors_.end(), tensor.begin(), tensor.end());
  }
}

bool Share::combine(std::span<const std::byte* const> bases, std::byte* out) {
  std::vector<const void*> inputs(members_);
  return some_of_all([&](const Piece& piece, std::size_t offset, std::size_t elements) {
    for (std::size_t i = 0; i < members_; ++i) inputs[i] = bases[i] + offset;
    kernels::combine(dtype_, out + offset, inputs,
                     std::span(factors_).subspan(piece.tensor * members_, members_), elements);
  });
}

}  // namespace unisono::move::adasum
