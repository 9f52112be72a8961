// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10 for as many counters as a vector has lanes, and the random numbers of the elements
// that they are for. Included once per SIMD target, by files that include hwy/foreach_target.h.

#if defined(UNISONO_KERNELS_PHILOX_VECTORS) == defined(HWY_TARGET_TOGGLE)
#ifdef UNISONO_KERNELS_PHILOX_VECTORS
#undef UNISONO_KERNELS_PHILOX_VECTORS
#else
#define UNISONO_KERNELS_PHILOX_VECTORS
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/quantise/bucket_vectors-inl.hpp"
#include "kernels/quantise/philox.hpp"

HWY_BEFORE_NAMESPACE();
namespace unisono::kernels::HWY_NAMESPACE {

#if UNISONO_HAS_VECTORS

struct WideProduct {
  VU32 low, high;
};

// All products of 32 bits by 32, with the multiplier of word 0 or of word 2.
template <int kWhich>
HWY_INLINE WideProduct wide_product(VU32 a) {
  const DU32 d;
#if HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64
  const uint32x2_t multipliers = {kPhiloxMultiplier0, kPhiloxMultiplier1};
  const VU32 lower(vreinterpretq_u32_u64(vmull_lane_u32(vget_low_u32(a.raw), multipliers, kWhich)));
  const VU32 upper(vreinterpretq_u32_u64(vmull_high_lane_u32(a.raw, multipliers, kWhich)));
  return {hn::ConcatEven(d, upper, lower), hn::ConcatOdd(d, upper, lower)};
#else
  const VU32 b = hn::Set(d, kWhich == 0 ? kPhiloxMultiplier0 : kPhiloxMultiplier1);
  const hn::Repartition<std::uint64_t, DU32> wide;
  const auto even = hn::MulEven(a, b);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, a))), b);
  return {hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even)),
          hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even)))};
#endif
}

// Rounds of many counters that differ in the first word alone. What the first two rounds make of
// the other words is the same for all of them, and computed once.
class PhiloxVectors {
 public:
  PhiloxVectors(std::uint32_t seed, std::uint32_t tensor, std::uint32_t counter1,
                std::uint32_t owner, std::uint32_t step) {
    for (int round = 0; round < kPhiloxRounds; ++round) {
      keys0_[round] = seed + static_cast<std::uint32_t>(round) * kPhiloxKeyStep0;
      keys1_[round] = tensor + static_cast<std::uint32_t>(round) * kPhiloxKeyStep1;
    }
    const std::uint64_t second = std::uint64_t{kPhiloxMultiplier1} * owner;
    const std::uint32_t word0 = static_cast<std::uint32_t>(second >> 32) ^ counter1 ^ keys0_[0];
    const std::uint64_t first = std::uint64_t{kPhiloxMultiplier0} * word0;
    before0_ = static_cast<std::uint32_t>(second) ^ keys0_[1];
    before2_ = static_cast<std::uint32_t>(first >> 32) ^ keys1_[1];
    word3_ = static_cast<std::uint32_t>(first);
    step_ = step ^ keys1_[0];
  }

  // The first two rounds of a vector of counters.
  HWY_INLINE void begin(VU32 counters, VU32 (&words)[4]) const {
    const DU32 d;
    const WideProduct first = wide_product<0>(counters);
    const WideProduct second = wide_product<1>(hn::Xor(first.high, hn::Set(d, step_)));
    words[0] = hn::Xor(second.high, hn::Set(d, before0_));
    words[1] = second.low;
    words[2] = hn::Xor(first.low, hn::Set(d, before2_));
    words[3] = hn::Set(d, word3_);
  }

  // Any later round.
  HWY_INLINE void round(int number, VU32 (&words)[4]) const {
    const DU32 d;
    const WideProduct first = wide_product<0>(words[0]);
    const WideProduct second = wide_product<1>(words[2]);
    words[0] = hn::Xor(second.high, hn::Xor(words[1], hn::Set(d, keys0_[number])));
    words[1] = second.low;
    words[2] = hn::Xor(first.high, hn::Xor(words[3], hn::Set(d, keys1_[number])));
    words[3] = first.low;
  }

 private:
  std::uint32_t keys0_[kPhiloxRounds], keys1_[kPhiloxRounds];
  std::uint32_t before0_, before2_, word3_, step_;
};

// Lane l of the counters of a group, from its first. Transposing the words within blocks of 128
// bits, as all targets do it, then leaves the elements in order.
HWY_INLINE VU32 counter_offsets() {
  constexpr std::size_t blocks = kLanes / 4;
  alignas(64) std::uint32_t offsets[kLanes];
  for (std::size_t l = 0; l < kLanes; ++l) {
    offsets[l] = static_cast<std::uint32_t>(l % 4 * blocks + l / 4);
  }
  return hn::Load(DU32(), offsets);
}

// (k + 1/2) / 2^16: the numbers from 128 on have steps of 2^-16, so that k are their last bits.
HWY_INLINE VF32 uniform_of(VU32 biased) {
  return hn::Sub(hn::BitCast(DF32(), biased), hn::Set(DF32(), 128.0f - 0x1.0p-17f));
}

// Calls use(vector, u) for the 8 vectors of elements that a vector of counters is for.
template <class Use>
HWY_INLINE void for_each_uniform(const VU32 (&words)[4], Use use) {
  const DU32 d;
  const hn::Repartition<std::uint64_t, DU32> wide;
  const hn::Repartition<std::uint16_t, DU32> d16;
  const auto low01 = hn::BitCast(wide, hn::InterleaveLower(d, words[0], words[1]));
  const auto high01 = hn::BitCast(wide, hn::InterleaveUpper(d, words[0], words[1]));
  const auto low23 = hn::BitCast(wide, hn::InterleaveLower(d, words[2], words[3]));
  const auto high23 = hn::BitCast(wide, hn::InterleaveUpper(d, words[2], words[3]));
  const hn::Vec<decltype(wide)> blocks[4] = {
      hn::InterleaveLower(wide, low01, low23), hn::InterleaveUpper(wide, low01, low23),
      hn::InterleaveLower(wide, high01, high23), hn::InterleaveUpper(wide, high01, high23)};
  for (std::size_t b = 0; b < 4; ++b) {
    const auto bits = hn::BitCast(d16, blocks[b]);
    if constexpr (kLanes == 4) {
      const auto bias = hn::Set(d16, 0x4300);
      use(2 * b, uniform_of(hn::BitCast(d, hn::InterleaveLower(d16, bits, bias))));
      use(2 * b + 1, uniform_of(hn::BitCast(d, hn::InterleaveUpper(d16, bits, bias))));
    } else {
      const hn::Half<decltype(d16)> half;
      const VU32 bias = hn::Set(d, 0x43000000);
      use(2 * b, uniform_of(hn::Or(hn::PromoteTo(d, hn::LowerHalf(half, bits)), bias)));
      use(2 * b + 1, uniform_of(hn::Or(hn::PromoteTo(d, hn::UpperHalf(half, bits)), bias)));
    }
  }
}

#endif  // UNISONO_HAS_VECTORS

}  // namespace unisono::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
