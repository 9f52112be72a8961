// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/sparse/inputs/counts.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace unisono::tools {
namespace {

// Sums f(i) over i from `first` to `last`: each of the first ones, then in the middle of ever wider
// steps, since what is summed bends less and less.
template <typename F>
double summed(std::uint64_t first, std::uint64_t last, const F& f) {
  constexpr std::uint64_t kEach = 1024, kStepsInAnOctave = 128;
  double sum = 0;
  for (std::uint64_t i = first; i <= last;) {
    const std::uint64_t step = i < kEach ? 1 : std::min(i / kStepsInAnOctave, last - i + 1);
    sum +=
        f(static_cast<double>(i) + static_cast<double>(step - 1) / 2) * static_cast<double>(step);
    i += step;
  }
  return sum;
}

class ZipfCounts {
 public:
  ZipfCounts(std::uint64_t length, std::uint64_t nnz)
      : harmonic_(summed(1, length, [](double i) { return 1 / i; })) {
    if (nnz >= length) {
      all_ = true;
      return;
    }
    // How many draws leave nnz different indices: halving the interval until it is one.
    double low = 0, high = 1;
    while (distinct(high, 1, length) < static_cast<double>(nnz)) high *= 2;
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      (distinct(middle, 1, length) < static_cast<double>(nnz) ? low : high) = middle;
    }
    draws_ = high;
  }
  double in(int ranks, std::uint64_t begin, std::uint64_t end) const {
    if (begin >= end) return 0;
    return all_ ? static_cast<double>(end - begin) : distinct(draws_ * ranks, begin + 1, end);
  }

 private:
  double distinct(double draws, std::uint64_t first, std::uint64_t last) const {
    // One index is all there are: every draw finds it.
    if (harmonic_ <= 1) return 1;
    return summed(first, last, [&](double i) {
      return -std::expm1(draws * std::log1p(-1 / (i * harmonic_)));
    });
  }

  double harmonic_ = 1, draws_ = 0;
  bool all_ = false;
};

class ActualCounts {
 public:
  ActualCounts(std::shared_ptr<const std::vector<Indices>> supports, std::uint64_t length)
      : supports_(std::move(supports)), seen_((length + 63) / 64) {}

  double in(int first, int count, std::uint64_t begin, std::uint64_t end) {
    std::uint64_t found = 0;
    const int ranks = static_cast<int>(supports_->size());
    each(first, std::min(count, ranks), begin, end, [&](std::uint32_t at) {
      std::uint64_t& word = seen_[at / 64];
      const std::uint64_t bit = std::uint64_t{1} << (at % 64);
      found += (word & bit) == 0 ? 1 : 0;
      word |= bit;
    });
    each(first, std::min(count, ranks), begin, end, [&](std::uint32_t at) { seen_[at / 64] = 0; });
    return static_cast<double>(found);
  }

 private:
  template <typename F>
  void each(int first, int count, std::uint64_t begin, std::uint64_t end, const F& f) const {
    for (int i = 0; i < count; ++i) {
      const Indices& of = (*supports_)[static_cast<std::size_t>(first + i) % supports_->size()];
      const auto from = std::lower_bound(of.begin(), of.end(), begin);
      const auto to = std::lower_bound(from, of.end(), end);
      std::for_each(from, to, f);
    }
  }

  std::shared_ptr<const std::vector<Indices>> supports_;
  std::vector<std::uint64_t> seen_;         // nothing between two calls
};

}  // namespace

cost::UnionCount expected_counts(const SupportShape& shape) {
  const auto k = static_cast<double>(shape.nnz);
  switch (shape.support) {
    case Support::identical: return cost::identical_supports(shape.length, k);
    case Support::disjoint: return cost::disjoint_supports(shape.length, k);
    case Support::zipf:
      return [counts = ZipfCounts(shape.length, shape.nnz), ranks = shape.ranks](
                 int, int count, std::uint64_t begin, std::uint64_t end) {
        return counts.in(std::min(count, ranks), begin, end);
      };
    case Support::uniform: break;
  }
  return cost::uniform_supports(shape.length, k, shape.ranks);
}

cost::UnionCount actual_counts(std::shared_ptr<const std::vector<Indices>> supports,
                               std::uint64_t length) {
  auto counts = std::make_shared<ActualCounts>(std::move(supports), length);
  return [counts](int first, int count, std::uint64_t begin, std::uint64_t end) {
    return counts->in(first, count, begin, end);
  };
}

}  // namespace unisono::tools
