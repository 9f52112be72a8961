// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A bucket stays in the first-level cache while its largest magnitude is found, its codes are made,
// a byte each, and these are packed.
#include "kernels/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/quantise/quantise_simd.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include <cstring>

#include "kernels/quantise/bucket_vectors-inl.hpp"
#include "kernels/quantise/philox_vectors-inl.hpp"
#include "kernels/quantise/quantise_reference.hpp"
#include "kernels/quantise/quantise_simd.hpp"

HWY_BEFORE_NAMESPACE();
namespace unisono::kernels::HWY_NAMESPACE {

#if UNISONO_HAS_VECTORS

HWY_INLINE VI32 floor_to_int(VF32 value) {
#if HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64
  return VI32(vcvtmq_s32_f32(value.raw));
#else
  return hn::ConvertTo(DI32(), hn::Floor(value));
#endif
}

// Four vectors of codes to a vector of bytes. No clamp is needed but one: v * inv exceeds the
// levels s by two roundings at most, some s / 2^23, which no rounding to nearest sees. u lies
// between 2^-17 and 1 - 2^-17: below -s it leads back, and beyond s + 1 only where s is 127, to
// 128.
template <bool kClamp>
HWY_INLINE void store_codes(const VI32* codes, std::uint8_t* to) {
  VI16 low = narrow_to_16(codes[0], codes[1]), high = narrow_to_16(codes[2], codes[3]);
  if constexpr (kClamp) {
    low = hn::Min(low, hn::Set(DI16(), 127));
    high = hn::Min(high, hn::Set(DI16(), 127));
  }
  store_vector(narrow_to_8(low, high), DU8(), to);
}

HWY_INLINE void codes_to_nearest(const float* values, float inverse, std::uint8_t* to) {
  const VF32 times = hn::Set(DF32(), inverse);
  for (std::size_t i = 0; i < kQuantiseBucket; i += 4 * kLanes) {
    VI32 codes[4];
    for (std::size_t v = 0; v < 4; ++v) {
      codes[v] = hn::NearestInt(hn::Mul(load_vector(DF32(), values + i + v * kLanes), times));
    }
    store_codes<false>(codes, to + i);
  }
}

// Of the 8 vectors of elements that a vector of counters is for.
template <bool kClamp>
HWY_INLINE void codes_of_words(const float* values, VF32 inverse, const VU32 (&words)[4],
                               std::uint8_t* to) {
  VI32 codes[8];
  for_each_uniform(words, [&](std::size_t v, VF32 u) HWY_ATTR {
    const VF32 scaled = hn::Mul(load_vector(DF32(), values + v * kLanes), inverse);
    codes[v] = floor_to_int(hn::Add(scaled, u));
  });
  store_codes<kClamp>(codes, to);
  store_codes<kClamp>(codes + 4, to + 4 * kLanes);
}

// As many counters at once as registers hold, since a round waits longer for its products than it
// computes. Written out, because an array that is indexed by a loop would go through memory.
template <bool kClamp>
HWY_INLINE void codes_at_random(const float* values, float inverse, const PhiloxVectors& philox,
                                std::uint32_t counter, std::uint8_t* to) {
  constexpr bool kFour = HWY_TARGET == HWY_NEON || HWY_TARGET <= HWY_AVX3;
  constexpr std::size_t kElements = 8 * kLanes;  // for which a vector of counters is
  constexpr std::size_t kTogether = kFour ? 4 * kElements : 2 * kElements;
  const VF32 times = hn::Set(DF32(), inverse);
  const VU32 step = hn::Set(DU32(), static_cast<std::uint32_t>(kLanes));
  VU32 counters = hn::Add(hn::Set(DU32(), counter), counter_offsets());
  const auto next = [&]() HWY_ATTR {
    const VU32 current = counters;
    counters = hn::Add(counters, step);
    return current;
  };
  for (std::size_t i = 0; i < kQuantiseBucket; i += kTogether) {
    VU32 a[4], b[4], c[4], d[4];
    philox.begin(next(), a);
    philox.begin(next(), b);
    if constexpr (kFour) {
      philox.begin(next(), c);
      philox.begin(next(), d);
    }
    for (int round = 2; round < kPhiloxRounds; ++round) {
      philox.round(round, a);
      philox.round(round, b);
      if constexpr (kFour) {
        philox.round(round, c);
        philox.round(round, d);
      }
    }
    const float* const from = values + i;
    codes_of_words<kClamp>(from, times, a, to + i);
    codes_of_words<kClamp>(from + kElements, times, b, to + i + kElements);
    if constexpr (kFour) {
      codes_of_words<kClamp>(from + 2 * kElements, times, c, to + i + 2 * kElements);
      codes_of_words<kClamp>(from + 3 * kElements, times, d, to + i + 3 * kElements);
    }
  }
}

// Halves the codes of two vectors of bytes: neighbours share a byte, shift apart.
template <int kShift>
HWY_INLINE VU8 paired(VU8 low, VU8 high) {
  const DU8 d;
  const VU8 even = hn::And(hn::ConcatEven(d, high, low), hn::Set(d, (1u << kShift) - 1));
  const VU8 odd = hn::ConcatOdd(d, high, low);
  if constexpr (kShift == 4) return hn::Or(even, hn::ShiftLeft<4>(odd));
  // The upper bits of a code are its sign; they would reach into its neighbours.
  return hn::Or(even, hn::ShiftLeft<kShift>(hn::And(odd, hn::Set(d, (1u << kShift) - 1))));
}

HWY_INLINE void pack_by_two(const std::uint8_t* codes, std::byte* to) {
  const DU8 d;
  constexpr std::size_t n = hn::MaxLanes(d);
  for (std::size_t i = 0; i < kQuantiseBucket; i += 2 * n) {
    store_vector(paired<4>(hn::LoadU(d, codes + i), hn::LoadU(d, codes + i + n)), d, to + i / 2);
  }
}

HWY_INLINE void pack_by_four(const std::uint8_t* codes, std::byte* to) {
  const DU8 d;
  constexpr std::size_t n = hn::MaxLanes(d);
  for (std::size_t i = 0; i < kQuantiseBucket; i += 4 * n) {
    const std::uint8_t* const from = codes + i;
    const VU8 low = paired<2>(hn::LoadU(d, from), hn::LoadU(d, from + n));
    const VU8 high = paired<2>(hn::LoadU(d, from + 2 * n), hn::LoadU(d, from + 3 * n));
    store_vector(paired<4>(low, high), d, to + i / 4);
  }
}

template <int kBits, bool kRandom>
HWY_NOINLINE void quantise_bits(const QuantiseKey& key, std::uint64_t first, const float* values,
                                std::size_t buckets, float* scales, std::byte* codes) {
  constexpr int levels = quantise_levels(kBits);
  constexpr std::size_t bytes = code_bytes(kBits, kQuantiseBucket);
  alignas(64) std::uint8_t unpacked[kQuantiseBucket];
  for (std::size_t b = 0; b < buckets; ++b, values += kQuantiseBucket, codes += bytes) {
    const BucketScale scale =
        bucket_scale(largest_of_vectors(values, kQuantiseBucket), static_cast<float>(levels));
    std::memcpy(reinterpret_cast<std::byte*>(scales) + b * sizeof(float), &scale.scale,
                sizeof(float));
    if (scale.inverse == 0) {
      std::memset(codes, 0, bytes);
      continue;
    }
    auto* const to = kBits == 8 ? reinterpret_cast<std::uint8_t*>(codes) : unpacked;
    if constexpr (kRandom) {
      const std::uint64_t counter = first / 8 + b * (kQuantiseBucket / 8);
      const PhiloxVectors philox(key.seed, key.tensor, static_cast<std::uint32_t>(counter >> 32),
                                 key.owner, key.step);
      codes_at_random<kBits == 8>(values, scale.inverse, philox,
                                  static_cast<std::uint32_t>(counter), to);
    } else {
      codes_to_nearest(values, scale.inverse, to);
    }
    if constexpr (kBits == 4) pack_by_two(unpacked, codes);
    if constexpr (kBits == 2) pack_by_four(unpacked, codes);
  }
}

template <bool kRandom>
void quantise_any(int bits, const QuantiseKey& key, std::uint64_t first, const float* values,
                  std::size_t buckets, float* scales, std::byte* codes) {
  switch (bits) {
    case 2:
      return quantise_bits<2, kRandom>(key, first, values, buckets, scales, codes);
    case 4:
      return quantise_bits<4, kRandom>(key, first, values, buckets, scales, codes);
    default:
      return quantise_bits<8, kRandom>(key, first, values, buckets, scales, codes);
  }
}

bool quantise_buckets(int bits, const QuantiseKey* key, std::uint64_t first, const float* values,
                      std::size_t buckets, float* scales, std::byte* codes) {
  if (key == nullptr) {
    quantise_any<false>(bits, {}, first, values, buckets, scales, codes);
  } else {
    quantise_any<true>(bits, *key, first, values, buckets, scales, codes);
  }
  return true;
}

simd::LeadingMagnitude leading_magnitude(const float* values, std::size_t count) {
  return {largest_of_vectors(values, count), count / (8 * kLanes) * (8 * kLanes)};
}

#else

bool quantise_buckets(int, const QuantiseKey*, std::uint64_t, const float*, std::size_t, float*,
                      std::byte*) {
  return false;
}

simd::LeadingMagnitude leading_magnitude(const float*, std::size_t) {
  return {};
}

#endif  // UNISONO_HAS_VECTORS

}  // namespace unisono::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unisono::kernels {
namespace {
HWY_EXPORT(quantise_buckets);
HWY_EXPORT(leading_magnitude);
}  // namespace

bool simd::quantise(int bits, const QuantiseKey* key, std::uint64_t first, const float* values,
                    std::size_t buckets, float* scales, std::byte* codes) {
  return HWY_DYNAMIC_DISPATCH(quantise_buckets)(bits, key, first, values, buckets, scales, codes);
}

simd::LeadingMagnitude simd::largest_magnitude(const float* values, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(leading_magnitude)(values, count);
}
}  // namespace unisono::kernels
#endif
