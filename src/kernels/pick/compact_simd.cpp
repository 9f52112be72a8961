// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Compacting reads a word of 64 elements and writes the two lowest of its picks whether they are
// there or not: at the densities of sparse exchange there are seldom more, so that no branch
// depends on the data.
#include "kernels/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pick/compact_simd.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include <bit>

#include "kernels/pick/pick_reference.hpp"
#include "kernels/pick/pick_simd.hpp"
#include "kernels/pick/pick_vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace unisono::kernels::HWY_NAMESPACE {

#if UNISONO_HAS_VECTORS

// Where picks go.
struct PickOutput {
  std::uint32_t* indices;
  float* picked;
  std::size_t capacity, taken;

  HWY_INLINE void put(std::size_t n, std::uint32_t index, float value) {
    write_at(indices, n, index);
    write_at(picked, n, value);
  }

  // The elements of a word, of which the first has the given index. Returns those that found room.
  HWY_INLINE std::uint64_t put_word(std::uint64_t word, const float* values, std::uint32_t index) {
    const auto in_word = static_cast<std::size_t>(std::popcount(word));
    const std::uint64_t whole = word;
    const auto place = [](std::uint64_t bits) {
      return static_cast<std::uint32_t>(std::countr_zero(bits)) % std::uint32_t{kWord};
    };
    if (taken + kWord > capacity) return put_some(word, values, index);
    std::uint32_t i = place(word);
    put(taken, index + i, read_at(values, i));
    word &= word - 1;
    i = place(word);
    put(taken + 1, index + i, read_at(values, i));
    word &= word - 1;
    for (std::size_t n = taken + 2; word != 0; ++n, word &= word - 1) {
      i = place(word);
      put(n, index + i, read_at(values, i));
    }
    taken += in_word;
    return whole;
  }

  HWY_NOINLINE std::uint64_t put_some(std::uint64_t word, const float* values,
                                      std::uint32_t index) {
    std::uint64_t placed = 0;
    for (; word != 0; word &= word - 1, ++taken) {
      if (taken >= capacity) continue;
      const auto i = static_cast<std::uint32_t>(std::countr_zero(word));
      put(taken, index + i, read_at(values, i));
      placed |= word & (~word + 1);
    }
    return placed;
  }
};

// Which elements are taken while the cut limits how many of those equal to it may be.
struct EqualLimit {
  std::size_t left;

  // Drops the last bits of equal that are too many from word.
  HWY_INLINE std::uint64_t keep(std::uint64_t word, std::uint64_t equal) {
    auto surplus = static_cast<std::size_t>(std::popcount(equal));
    if (surplus <= left) {
      left -= surplus;
      return word;
    }
    for (surplus -= left, left = 0; surplus != 0; --surplus) {
      const std::uint64_t last = std::uint64_t{1} << (63 - std::countl_zero(equal));
      equal ^= last;
      word ^= last;
    }
    return word;
  }
};

// next(i, below) gives the word of the elements from i on that are above `below`, above(i, below)
// the same once more, and put(i, word) takes what a word names.
template <class Next, class Again, class Put>
HWY_INLINE simd::Compacted compact_words(std::size_t count, Cut cut, Next next, Again again,
                                         Put put) {
  const auto magnitude = static_cast<std::int32_t>(magnitude_of(cut.magnitude));
  const std::size_t whole = count / kWord * kWord;
  EqualLimit limit{cut.equal};
  LanesI32 below = hn::Set(DI32(), magnitude - 1);
  const LanesI32 at = hn::Set(DI32(), magnitude);
  std::size_t i = 0;
  if (limit.left != SIZE_MAX) {
    for (; i < whole && limit.left != 0; i += kWord) {
      std::uint64_t word = next(i, below);
      if (word != 0) word = limit.keep(word, word & ~again(i, at));
      put(i, word);
    }
    below = at;
  }
  for (; i < whole; i += kWord) put(i, next(i, below));
  return {whole, 0, limit.left};
}

simd::Compacted compact_leading(const float* values, std::size_t count, Cut cut, std::uint32_t base,
                                std::uint32_t* indices, float* picked, std::size_t capacity) {
  PickOutput out{indices, picked, capacity, 0};
  const auto words = [&](std::size_t i, LanesI32 below)
                         HWY_ATTR { return word_above(values + i, below); };
  simd::Compacted done =
      compact_words(count, cut, words, words, [&](std::size_t i, std::uint64_t word) HWY_ATTR {
        out.put_word(word, values + i, base + static_cast<std::uint32_t>(i));
      });
  done.taken = out.taken;
  return done;
}

// The sum is kept in a small copy, since the residual is cleared where it is picked as it is
// stored.
template <bool kGradient>
HWY_NOINLINE simd::Compacted compact_fed(float* residual, const float* gradient, std::size_t count,
                                         Cut cut, std::uint32_t base, std::uint32_t* indices,
                                         float* picked, std::size_t capacity) {
  PickOutput out{indices, picked, capacity, 0};
  alignas(64) float sums[kWord];
  std::uint64_t cleared = 0;
  const auto next = [&](std::size_t begin, LanesI32 below) HWY_ATTR {
    float* const from = residual + begin;
    cleared = word_of([&](std::size_t i) HWY_ATTR {
      VF32 sum = load_vector(DF32(), from + i);
      if constexpr (kGradient) sum = hn::Add(sum, load_vector(DF32(), gradient + begin + i));
      const auto mask = hn::Gt(magnitudes(sum), below);
      store_vector(sum, DF32(), sums + i);
      store_vector(hn::IfThenZeroElse(hn::RebindMask(DF32(), mask), sum), DF32(), from + i);
      return mask;
    });
    return cleared;
  };
  const auto again = [&](std::size_t, LanesI32 below) HWY_ATTR { return word_above(sums, below); };
  simd::Compacted done =
      compact_words(count, cut, next, again, [&](std::size_t begin, std::uint64_t word) HWY_ATTR {
        std::uint64_t kept =
            cleared ^ out.put_word(word, sums, base + static_cast<std::uint32_t>(begin));
        for (; kept != 0; kept &= kept - 1) {
          const auto i = static_cast<std::size_t>(std::countr_zero(kept));
          write_at(residual, begin + i, sums[i]);
        }
      });
  done.taken = out.taken;
  return done;
}

simd::Compacted compact_leading_fed(float* residual, const float* gradient, std::size_t count,
                                    Cut cut, std::uint32_t base, std::uint32_t* indices,
                                    float* picked, std::size_t capacity) {
  if (gradient == nullptr) {
    return compact_fed<false>(residual, gradient, count, cut, base, indices, picked, capacity);
  }
  return compact_fed<true>(residual, gradient, count, cut, base, indices, picked, capacity);
}

std::size_t count_leading(const float* values, std::size_t count, int shift, std::uint32_t prefix,
                          std::uint32_t* bins) {
  const std::size_t whole = count / kWord * kWord;
  const std::uint32_t lower = (std::uint32_t{1} << (shift + 10)) - 1;
  const LanesI32 kept = hn::Set(DI32(), static_cast<std::int32_t>(0x7FFFFFFFu & ~lower));
  const LanesI32 wanted = hn::Set(DI32(), static_cast<std::int32_t>(prefix << (shift + 10)));
  for (std::size_t i = 0; i < whole; i += kWord) {
    std::uint64_t word = word_of([&](std::size_t v) HWY_ATTR {
      return hn::Eq(hn::And(load_vector(DI32(), values + i + v), kept), wanted);
    });
    for (; word != 0; word &= word - 1) {
      const auto at = i + static_cast<std::size_t>(std::countr_zero(word));
      ++bins[(magnitude_of(read_at(values, at)) >> shift) & 1023];
    }
  }
  return whole;
}

#else

simd::Compacted compact_leading(const float*, std::size_t, Cut cut, std::uint32_t, std::uint32_t*,
                                float*, std::size_t) {
  return {0, 0, cut.equal};
}

simd::Compacted compact_leading_fed(float*, const float*, std::size_t, Cut cut, std::uint32_t,
                                    std::uint32_t*, float*, std::size_t) {
  return {0, 0, cut.equal};
}

std::size_t count_leading(const float*, std::size_t, int, std::uint32_t, std::uint32_t*) {
  return 0;
}

#endif  // UNISONO_HAS_VECTORS

}  // namespace unisono::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unisono::kernels {
namespace {
HWY_EXPORT(compact_leading);
HWY_EXPORT(compact_leading_fed);
HWY_EXPORT(count_leading);
}  // namespace

simd::Compacted simd::compact(const float* values, std::size_t count, Cut cut, std::uint32_t base,
                              std::uint32_t* indices, float* picked, std::size_t capacity) {
  return HWY_DYNAMIC_DISPATCH(compact_leading)(values, count, cut, base, indices, picked, capacity);
}

simd::Compacted simd::compact_with_feedback(float* residual, const float* gradient,
                                            std::size_t count, Cut cut, std::uint32_t base,
                                            std::uint32_t* indices, float* picked,
                                            std::size_t capacity) {
  return HWY_DYNAMIC_DISPATCH(compact_leading_fed)(residual, gradient, count, cut, base, indices,
                                                   picked, capacity);
}

std::size_t simd::count_matching(const float* values, std::size_t count, int shift,
                                 std::uint32_t prefix, std::uint32_t* bins) {
  return HWY_DYNAMIC_DISPATCH(count_leading)(values, count, shift, prefix, bins);
}
}  // namespace unisono::kernels
#endif
