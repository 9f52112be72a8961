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

HWY_INLINE VI16 clamped(VI16 codes, VI16 levels) {
  return hn::Max(hn::Min(codes, levels), hn::Neg(levels));
}

// Four vectors of codes to a vector of bytes.
HWY_INLINE void store_codes(const VI32* codes, VI16 levels, std::uint8_t* to) {
  const VI16 low = clamped(narrow_to_16(codes[0], codes[1]), levels);
  const VI16 high = clamped(narrow_to_16(codes[2], codes[3]), levels);
  store_vector(narrow_to_8(low, high), DU8(), to);
}

HWY_INLINE void codes_to_nearest(const float* values, float inverse, int levels, std::uint8_t* to) {
  const VF32 times = hn::Set(DF32(), inverse);
  const VI16 bounds = hn::Set(DI16(), static_cast<std::int16_t>(levels));
  for (std::size_t i = 0; i < kQuantiseBucket; i += 4 * kLanes) {
    VI32 codes[4];
    for (std::size_t v = 0; v < 4; ++v) {
      codes[v] = hn::NearestInt(hn::Mul(load_vector(DF32(), values + i + v * kLanes), times));
    }
    store_codes(codes, bounds, to + i);
  }
}

HWY_INLINE void codes_at_random(const float* values, float inverse, int levels,
                                const PhiloxVectors& philox, std::uint32_t counter,
                                std::uint8_t* to) {
  constexpr std::size_t kGroups = 2;
  constexpr std::size_t kElements = 8 * kLanes;  // for which a vector of counters is
  const VF32 times = hn::Set(DF32(), inverse);
  const VI16 bounds = hn::Set(DI16(), static_cast<std::int16_t>(levels));
  VU32 counters = hn::Add(hn::Set(DU32(), counter), counter_offsets());
  const VU32 next = hn::Set(DU32(), static_cast<std::uint32_t>(kLanes));
  for (std::size_t i = 0; i < kQuantiseBucket; i += kGroups * kElements) {
    const VU32 both[kGroups] = {counters, hn::Add(counters, next)};
    VU32 words[kGroups][4];
    philox.run(both, words);
    counters = hn::Add(both[1], next);
    for (std::size_t g = 0; g < kGroups; ++g) {
      const float* const from = values + i + g * kElements;
      VI32 codes[8];
      for_each_uniform(words[g], [&](std::size_t v, VF32 u) HWY_ATTR {
        const VF32 scaled = hn::Mul(load_vector(DF32(), from + v * kLanes), times);
        codes[v] = floor_to_int(hn::Add(scaled, u));
      });
      store_codes(codes, bounds, to + i + g * kElements);
      store_codes(codes + 4, bounds, to + i + g * kElements + 4 * kLanes);
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
      codes_at_random(values, scale.inverse, levels, philox, static_cast<std::uint32_t>(counter),
                      to);
    } else {
      codes_to_nearest(values, scale.inverse, levels, to);
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
