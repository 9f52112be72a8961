// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A word of the bitmap with few bits is taken bit by bit, others vector by vector: the lanes that
// are there move to the front.
#include "kernels/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sparse/compact_simd.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include <bit>
#include <cstring>

#include "kernels/small_float_vectors-inl.hpp"
#include "kernels/sparse/compact_simd.hpp"

HWY_BEFORE_NAMESPACE();
namespace unisono::kernels::HWY_NAMESPACE {

#if UNISONO_HAS_VECTORS

// Fewer bits than this in a word are quicker one by one.
constexpr int kFewBits = 12;

simd::Compacted compact_u32(const Accumulators& segment, std::size_t capacity,
                            std::uint32_t* indices, void* values) {
  const DU32 d;
  const std::size_t lanes = hn::Lanes(d);
  const auto* from = static_cast<const std::byte*>(segment.values);
  auto* to = static_cast<std::byte*>(values);
  simd::Compacted done;
  const std::size_t whole = segment.length / 64;  // words whose elements are all inside
  for (; done.words < whole && done.count + 64 <= capacity; ++done.words) {
    std::uint64_t word = segment.present[done.words];
    const std::size_t start = done.words * 64;
    if (std::popcount(word) < kFewBits) {
      for (; word != 0; word &= word - 1) {
        const std::size_t at = start + static_cast<std::size_t>(std::countr_zero(word));
        indices[done.count] = static_cast<std::uint32_t>(at);
        std::memcpy(to + done.count * 4, from + at * 4, 4);
        ++done.count;
      }
      continue;
    }
    for (std::size_t first = 0; first < 64; first += lanes) {
      std::uint8_t bits[8];
      const std::uint64_t part = word >> first;
      std::memcpy(bits, &part, sizeof bits);
      const auto mask = hn::LoadMaskBits(d, bits);
      const VU32 here = load_vector(d, from + (start + first) * 4);
      const VU32 places = hn::Iota(d, static_cast<std::uint32_t>(start + first));
      store_vector(hn::Compress(here, mask), d, to + done.count * 4);
      store_vector(hn::Compress(places, mask), d, indices + done.count);
      done.count += hn::CountTrue(d, mask);
    }
  }
  return done;
}

#else

simd::Compacted compact_u32(const Accumulators&, std::size_t, std::uint32_t*, void*) { return {}; }

#endif  // UNISONO_HAS_VECTORS

}  // namespace unisono::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unisono::kernels {
namespace {
HWY_EXPORT(compact_u32);
}

simd::Compacted simd::compact_words(const Accumulators& segment, std::size_t capacity,
                                    std::uint32_t* indices, void* values) {
  return HWY_DYNAMIC_DISPATCH(compact_u32)(segment, capacity, indices, values);
}
}  // namespace unisono::kernels
#endif
