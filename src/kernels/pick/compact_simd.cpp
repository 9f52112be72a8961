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
  std::size_t capacity;
};

template <bool kClear, class Values>
HWY_INLINE void put_pick(const PickOutput& out, std::size_t n, Values values, std::uint32_t i,
                         std::uint32_t index, bool present) {
  const float value = read_at<float>(values, i);
  write_at(out.indices, n, index + i);
  write_at(out.picked, n, value);
  if constexpr (kClear) write_at(values, i, present ? 0.0f : value);
}

// Near the end of the capacity.
template <bool kClear, class Values>
HWY_NOINLINE std::size_t put_some(PickOutput out, std::size_t taken, std::uint64_t word,
                                  Values values, std::uint32_t index) {
  for (; word != 0; word &= word - 1, ++taken) {
    if (taken >= out.capacity) continue;
    put_pick<kClear>(out, taken, values, static_cast<std::uint32_t>(std::countr_zero(word)), index,
                     true);
  }
  return taken;
}

// The elements of a word, of which the first is values[0] and has the given index. Returns how many
// have been taken with them; that stays in a register, as each word waits for it.
template <bool kClear, class Values>
HWY_INLINE std::size_t put_word(const PickOutput& out, std::size_t taken, std::uint64_t word,
                                Values values, std::uint32_t index) {
  if (taken + kWord > out.capacity) return put_some<kClear>(out, taken, word, values, index);
  const auto place = [](std::uint64_t bits) {
    return static_cast<std::uint32_t>(std::countr_zero(bits)) % std::uint32_t{kWord};
  };
  const std::size_t end = taken + static_cast<std::size_t>(std::popcount(word));
  put_pick<kClear>(out, taken, values, place(word), index, word != 0);
  word &= word - 1;
  put_pick<kClear>(out, taken + 1, values, place(word), index, word != 0);
  word &= word - 1;
  for (std::size_t n = taken + 2; word != 0; ++n, word &= word - 1) {
    put_pick<kClear>(out, n, values, place(word), index, true);
  }
  return end;
}

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

// next(i, below) gives the word of the elements from i on that are above `below`. Once it has been
// asked, values hold them.
template <bool kClear, class Values, class Next>
HWY_INLINE simd::Compacted compact_words(Values values, std::size_t count, Cut cut,
                                         std::uint32_t base, const PickOutput& out, Next next) {
  const auto magnitude = static_cast<std::int32_t>(magnitude_of(cut.magnitude));
  const std::size_t whole = count / kWord * kWord;
  EqualLimit limit{cut.equal};
  LanesI32 below = hn::Set(DI32(), magnitude - 1);
  const LanesI32 at = hn::Set(DI32(), magnitude);
  std::size_t i = 0, taken = 0;
  if (limit.left != SIZE_MAX) {
    for (; i < whole && limit.left != 0; i += kWord) {
      std::uint64_t word = next(i, below);
      if (word != 0) word = limit.keep(word, word & ~word_above(values + i, at));
      taken = put_word<kClear>(out, taken, word, values + i, base + static_cast<std::uint32_t>(i));
    }
    below = at;
  }
  // A word is put while the next one is made, so that nobody waits for its bits.
  if (i < whole) {
    std::uint64_t word = next(i, below);
    for (; i + kWord < whole; i += kWord) {
      const std::uint64_t following = next(i + kWord, below);
      taken = put_word<kClear>(out, taken, word, values + i, base + static_cast<std::uint32_t>(i));
      word = following;
    }
    taken = put_word<kClear>(out, taken, word, values + i, base + static_cast<std::uint32_t>(i));
  }
  return {whole, taken, limit.left};
}

simd::Compacted compact_leading(const float* values, std::size_t count, Cut cut, std::uint32_t base,
                                std::uint32_t* indices, float* picked, std::size_t capacity) {
  return compact_words<false>(values, count, cut, base, {indices, picked, capacity},
                              [&](std::size_t i, LanesI32 below)
                                  HWY_ATTR { return word_above(values + i, below); });
}

template <bool kGradient>
HWY_NOINLINE simd::Compacted compact_fed(float* residual, const float* gradient, std::size_t count,
                                         Cut cut, std::uint32_t base, const PickOutput& out) {
  const auto next = [&](std::size_t begin, LanesI32 below) HWY_ATTR {
    float* const to = residual + begin;
    if constexpr (!kGradient) return word_above(to, below);
    return word_of([&](std::size_t i) HWY_ATTR {
      const VF32 sum =
          hn::Add(load_vector(DF32(), to + i), load_vector(DF32(), gradient + begin + i));
      store_vector(sum, DF32(), to + i);
      return hn::Gt(magnitudes(sum), below);
    });
  };
  return compact_words<true>(residual, count, cut, base, out, next);
}

simd::Compacted compact_leading_fed(float* residual, const float* gradient, std::size_t count,
                                    Cut cut, std::uint32_t base, std::uint32_t* indices,
                                    float* picked, std::size_t capacity) {
  if (gradient == nullptr) {
    return compact_fed<false>(residual, gradient, count, cut, base, {indices, picked, capacity});
  }
  return compact_fed<true>(residual, gradient, count, cut, base, {indices, picked, capacity});
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
