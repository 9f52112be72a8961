// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// 64 elements at a time: a word with a bit for each that passes a test, which all kernels that pick
// begin with. Words are made without branches; few of their bits are set. Included once per SIMD
// target, by files that include hwy/foreach_target.h.

#if defined(UNISONO_KERNELS_PICK_VECTORS) == defined(HWY_TARGET_TOGGLE)
#ifdef UNISONO_KERNELS_PICK_VECTORS
#undef UNISONO_KERNELS_PICK_VECTORS
#else
#define UNISONO_KERNELS_PICK_VECTORS
#endif

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "kernels/small_float_vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace unisono::kernels::HWY_NAMESPACE {

#if UNISONO_HAS_VECTORS

using LanesI32 = hn::Vec<DI32>;
inline constexpr std::size_t kWidth = hn::MaxLanes(DF32());  // every target here has fixed vectors
inline constexpr std::size_t kWord = 64;                     // elements

// As signed numbers magnitudes keep their order, and every target compares those.
template <class V>
HWY_INLINE LanesI32 magnitudes(V values) {
  return hn::And(hn::BitCast(DI32(), values), hn::Set(DI32(), 0x7FFFFFFF));
}

// test(i) gives the mask of elements i to i + kWidth; it is asked once for each i.
template <class Test>
HWY_INLINE std::uint64_t word_of(Test test) {
  const DI32 d;
#if HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64
  // Narrowed to bytes, which keep the bit of their place and are then added up by neighbours.
  alignas(16) static constexpr std::uint8_t kPlaces[16] = {1, 2, 4, 8, 16, 32, 64, 128,
                                                           1, 2, 4, 8, 16, 32, 64, 128};
  const uint8x16_t places = vld1q_u8(kPlaces);
  uint8x16_t parts[4];
  for (std::size_t q = 0; q < 4; ++q) {
    uint16x8_t m[4];
    for (std::size_t v = 0; v < 4; ++v) {
      m[v] = vreinterpretq_u16_s32(hn::VecFromMask(d, test(q * 16 + v * 4)).raw);
    }
    const uint8x16_t low = vreinterpretq_u8_u16(vuzp1q_u16(m[0], m[1]));
    const uint8x16_t high = vreinterpretq_u8_u16(vuzp1q_u16(m[2], m[3]));
    parts[q] = vandq_u8(vuzp1q_u8(low, high), places);
  }
  const uint8x16_t pairs = vpaddq_u8(vpaddq_u8(parts[0], parts[1]), vpaddq_u8(parts[2], parts[3]));
  return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(pairs, pairs)), 0);
#else
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < kWord; i += kWidth) {
    std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(d, test(i), bytes);
    const std::uint64_t bits = kWidth == 16 ? bytes[0] | bytes[1] << 8 : bytes[0];
    word |= bits << i;
  }
  return word;
#endif
}

// Elements whose magnitude is above `below`, which may be -1.
HWY_INLINE std::uint64_t word_above(const float* from, LanesI32 below) {
  return word_of([&](std::size_t i)
                     HWY_ATTR { return hn::Gt(magnitudes(load_vector(DI32(), from + i)), below); });
}

// Callers' memory may have any alignment.
template <typename T>
HWY_INLINE T read_at(const T* from, std::size_t i) {
  T value;
  std::memcpy(&value, reinterpret_cast<const std::byte*>(from) + i * sizeof(T), sizeof(T));
  return value;
}
template <typename T>
HWY_INLINE void write_at(T* to, std::size_t i, T value) {
  std::memcpy(reinterpret_cast<std::byte*>(to) + i * sizeof(T), &value, sizeof(T));
}

#endif  // UNISONO_HAS_VECTORS

}  // namespace unisono::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
