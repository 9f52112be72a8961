// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/sparse/inputs/supports.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/data/text.hpp"
#include "opt/job/random.hpp"

namespace unisono::tools {
namespace {

// Numbers below a bound that need be no power of two, each equally likely.
std::uint64_t drawn_below(opt::Random& random, std::uint64_t bound) {
  const std::uint64_t mask = std::bit_ceil(bound) - 1;
  std::uint64_t drawn = random.next() & mask;
  while (drawn >= bound) drawn = random.next() & mask;
  return drawn;
}

// i in [0, bound) with a probability in proportion to 1 / (i + 1), exactly: first which power of
// two it lies above, then where, of which those that are too likely so far are drawn again.
std::uint64_t drawn_by_zipf(opt::Random& random, std::uint64_t bound) {
  const auto octaves = static_cast<std::uint64_t>(std::bit_width(bound));
  while (true) {
    const std::uint64_t low = std::uint64_t{1} << drawn_below(random, octaves);
    const std::uint64_t at = low + (random.next() & (low - 1));
    if (at <= bound && drawn_below(random, at) < low) return at - 1;
  }
}

// A set of numbers below a length.
class Chosen {
 public:
  explicit Chosen(std::uint64_t length) : length_(length), words_((length + 63) / 64) {}

  bool add(std::uint64_t at) {
    std::uint64_t& word = words_[at / 64];
    const std::uint64_t bit = std::uint64_t{1} << (at % 64);
    const bool added = (word & bit) == 0;
    word |= bit;
    return added;
  }
  // Those in the set, or those that are not.
  Indices listed(bool present, std::uint64_t count) const {
    Indices out;
    out.reserve(count);
    for (std::size_t w = 0; w < words_.size(); ++w) {
      std::uint64_t word = present ? words_[w] : ~words_[w];
      for (; word != 0; word &= word - 1) {
        const std::uint64_t at = 64 * w + static_cast<std::uint64_t>(std::countr_zero(word));
        if (at < length_) out.push_back(static_cast<std::uint32_t>(at));
      }
    }
    return out;
  }

 private:
  std::uint64_t length_;
  std::vector<std::uint64_t> words_;
};

// Drawing until there are enough different ones makes every set equally likely. Of most elements it
// is shorter to draw those that are left out.
Indices uniform_indices(std::uint64_t length, std::uint64_t count, std::uint64_t seed) {
  opt::Random random(seed);
  Chosen chosen(length);
  const bool present = count <= length / 2;
  std::uint64_t missing = present ? count : length - count;
  while (missing > 0) missing -= chosen.add(drawn_below(random, length)) ? 1 : 0;
  return chosen.listed(present, count);
}

Indices zipf_indices(std::uint64_t length, std::uint64_t count, std::uint64_t seed) {
  opt::Random random(seed);
  Chosen chosen(length);
  if (count == length) return chosen.listed(false, count);
  for (std::uint64_t missing = count; missing > 0;) {
    missing -= chosen.add(drawn_by_zipf(random, length)) ? 1 : 0;
  }
  return chosen.listed(true, count);
}

// Rank r has indices that leave r when divided by the number of ranks.
Indices disjoint_indices(const SupportShape& shape, int rank) {
  const auto ranks = static_cast<std::uint64_t>(shape.ranks);
  Indices out = uniform_indices(shape.length / ranks, shape.nnz,
                                opt::mixed(shape.seed, static_cast<std::uint64_t>(rank)));
  for (std::uint32_t& each : out) {
    each = static_cast<std::uint32_t>(each * ranks + static_cast<std::uint64_t>(rank));
  }
  return out;
}

}  // namespace

std::string_view name_of(Support support) {
  switch (support) {
    case Support::uniform: return "uniform";
    case Support::zipf: return "zipf";
    case Support::identical: return "identical";
    case Support::disjoint: return "disjoint";
  }
  return "";
}

std::optional<Support> support_from(std::string_view name) {
  for (const Support each : kSupports) {
    if (name == name_of(each)) return each;
  }
  return std::nullopt;
}

std::uint64_t elements_at(double density, std::uint64_t length) {
  const auto wanted = std::llround(density * static_cast<double>(length));
  return std::clamp(static_cast<std::uint64_t>(std::max(wanted, 1LL)), std::uint64_t{1}, length);
}

Status supportable(const SupportShape& shape) {
  if (shape.length == 0 || shape.length > std::uint64_t{1} << 32) {
    return Status(Code::invalid_argument,
                  cat("a vector of ", shape.length, " elements: give 1 to 2^32"));
  }
  const std::uint64_t room = shape.support == Support::disjoint
                                 ? shape.length / static_cast<std::uint64_t>(shape.ranks)
                                 : shape.length;
  if (shape.nnz <= room) return {};
  return Status(Code::invalid_argument,
                cat(shape.ranks, " ranks cannot have ", shape.nnz, " of ", shape.length,
                    " elements each and none in common; at most ", room,
                    ", so give a lower density or fewer ranks"));
}

Indices support_of(const SupportShape& shape, int rank) {
  const auto who = static_cast<std::uint64_t>(rank);
  switch (shape.support) {
    case Support::identical: return uniform_indices(shape.length, shape.nnz, shape.seed);
    case Support::disjoint: return disjoint_indices(shape, rank);
    case Support::zipf: return zipf_indices(shape.length, shape.nnz, opt::mixed(shape.seed, who));
    case Support::uniform: break;
  }
  return uniform_indices(shape.length, shape.nnz, opt::mixed(shape.seed, who));
}

}  // namespace unisono::tools
