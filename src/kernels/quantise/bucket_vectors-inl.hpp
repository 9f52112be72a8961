// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Vectors of a bucket that all quantising kernels share: its largest magnitude, and 32-bit lanes to
// bytes and back, in order. Included once per SIMD target, by files that include
// hwy/foreach_target.h.

#if defined(UNISONO_KERNELS_BUCKET_VECTORS) == defined(HWY_TARGET_TOGGLE)
#ifdef UNISONO_KERNELS_BUCKET_VECTORS
#undef UNISONO_KERNELS_BUCKET_VECTORS
#else
#define UNISONO_KERNELS_BUCKET_VECTORS
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/small_float_vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace unisono::kernels::HWY_NAMESPACE {

#if UNISONO_HAS_VECTORS

using VI32 = hn::Vec<DI32>;
// Full vectors of shorter lanes.
using DI16 = hn::Repartition<std::int16_t, DF32>;
using DU8 = hn::Repartition<std::uint8_t, DF32>;
using VI16 = hn::Vec<DI16>;
using VU8 = hn::Vec<DU8>;
inline constexpr std::size_t kLanes = hn::MaxLanes(DF32());  // every target here has fixed vectors

// As signed numbers magnitudes keep their order, and every target compares those.
HWY_INLINE VI32 magnitude_lanes(const float* from) {
  return hn::And(load_vector(DI32(), from), hn::Set(DI32(), 0x7FFFFFFF));
}

// Of count elements, a multiple of 8 vectors; count < that: 0.
HWY_INLINE std::uint32_t largest_of_vectors(const float* values, std::size_t count) {
  const DI32 di;
  VI32 a = hn::Zero(di), b = a, c = a, d = a;
  for (std::size_t i = 0; i + 8 * kLanes <= count; i += 8 * kLanes) {
    const float* from = values + i;
    a = hn::Max(a, hn::Max(magnitude_lanes(from), magnitude_lanes(from + 4 * kLanes)));
    b = hn::Max(b, hn::Max(magnitude_lanes(from + kLanes), magnitude_lanes(from + 5 * kLanes)));
    c = hn::Max(c, hn::Max(magnitude_lanes(from + 2 * kLanes), magnitude_lanes(from + 6 * kLanes)));
    d = hn::Max(d, hn::Max(magnitude_lanes(from + 3 * kLanes), magnitude_lanes(from + 7 * kLanes)));
  }
  const VI32 largest = hn::Max(hn::Max(a, b), hn::Max(c, d));
  return static_cast<std::uint32_t>(hn::GetLane(hn::MaxOfLanes(di, largest)));
}

// The low halves of the lanes of two vectors, in order.
HWY_INLINE VI16 narrow_to_16(VI32 low, VI32 high) {
  const DI16 d;
  return hn::ConcatEven(d, hn::BitCast(d, high), hn::BitCast(d, low));
}
HWY_INLINE VU8 narrow_to_8(VI16 low, VI16 high) {
  const DU8 d;
  return hn::ConcatEven(d, hn::BitCast(d, high), hn::BitCast(d, low));
}

// Calls use(i, lanes) for each vector of 16 bytes that are widened to 32 bits, i the first element.
template <class Lane, class DWide, class Use>
HWY_INLINE void widen_16_bytes(DWide wide, hn::Vec<hn::Full128<Lane>> bytes, Use use) {
  const hn::Full64<Lane> half;
  if constexpr (kLanes == 16) {
    use(0, hn::PromoteTo(wide, bytes));
  } else if constexpr (kLanes == 8) {
    use(0, hn::PromoteTo(wide, hn::LowerHalf(half, bytes)));
    use(8, hn::PromoteTo(wide, hn::UpperHalf(half, bytes)));
  } else {
    using Lane16 = hwy::MakeWide<Lane>;
    const hn::Full128<Lane16> d16;
    const hn::Full64<Lane16> half16;
    const auto low = hn::PromoteTo(d16, hn::LowerHalf(half, bytes));
    const auto high = hn::PromoteTo(d16, hn::UpperHalf(half, bytes));
    use(0, hn::PromoteTo(wide, hn::LowerHalf(half16, low)));
    use(4, hn::PromoteTo(wide, hn::UpperHalf(half16, low)));
    use(8, hn::PromoteTo(wide, hn::LowerHalf(half16, high)));
    use(12, hn::PromoteTo(wide, hn::UpperHalf(half16, high)));
  }
}

#endif  // UNISONO_HAS_VECTORS

}  // namespace unisono::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
