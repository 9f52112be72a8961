// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Sixteen bytes of codes at a time: the codes of a byte are moved apart, put in order and widened.
#include "kernels/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/quantise/dequantise_simd.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include <cstring>

#include "kernels/quantise/bucket_vectors-inl.hpp"
#include "kernels/quantise/quantise_simd.hpp"

HWY_BEFORE_NAMESPACE();
namespace unisono::kernels::HWY_NAMESPACE {

#if UNISONO_HAS_VECTORS

using DCode = hn::Full128<std::int8_t>;
using VCode = hn::Vec<DCode>;

HWY_INLINE VCode load_packed(const std::byte* from) {
  return hn::LoadU(DCode(), reinterpret_cast<const std::int8_t*>(from));
}

// Calls use(first, codes) for each 16 codes of as many bytes; shifting signed lanes keeps the sign.
template <int kBits, class Use>
HWY_INLINE void unpack(VCode packed, Use use) {
  const DCode d;
  if constexpr (kBits == 8) {
    use(0, packed);
  } else if constexpr (kBits == 4) {
    const VCode even = hn::ShiftRight<4>(hn::ShiftLeft<4>(packed));
    const VCode odd = hn::ShiftRight<4>(packed);
    use(0, hn::InterleaveLower(d, even, odd));
    use(16, hn::InterleaveUpper(d, even, odd));
  } else {
    const hn::Repartition<std::int16_t, DCode> pairs;
    const VCode code0 = hn::ShiftRight<6>(hn::ShiftLeft<6>(packed));
    const VCode code1 = hn::ShiftRight<6>(hn::ShiftLeft<4>(packed));
    const VCode code2 = hn::ShiftRight<6>(hn::ShiftLeft<2>(packed));
    const VCode code3 = hn::ShiftRight<6>(packed);
    const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, code0, code1));
    const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, code0, code1));
    const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, code2, code3));
    const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, code2, code3));
    use(0, hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)));
    use(16, hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)));
    use(32, hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)));
    use(48, hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)));
  }
}

template <int kBits, bool kAdd>
HWY_NOINLINE void dequantise_bits(const float* scales, const std::byte* codes, std::size_t buckets,
                                  float* out) {
  constexpr std::size_t elements = 16 * 8 / kBits;  // in 16 bytes
  for (std::size_t b = 0; b < buckets; ++b) {
    float scale;
    std::memcpy(&scale, reinterpret_cast<const std::byte*>(scales) + b * sizeof scale,
                sizeof scale);
    const VF32 step = hn::Set(DF32(), scale / static_cast<float>(quantise_levels(kBits)));
    for (std::size_t i = 0; i < kQuantiseBucket; i += elements, codes += 16, out += elements) {
      unpack<kBits>(load_packed(codes), [&](std::size_t first, VCode some) HWY_ATTR {
        widen_16_bytes<std::int8_t>(DI32(), some, [&](std::size_t at, VI32 code) HWY_ATTR {
          float* const to = out + first + at;
          VF32 value = hn::Mul(hn::ConvertTo(DF32(), code), step);
          if constexpr (kAdd) value = hn::Add(load_vector(DF32(), to), value);
          store_vector(value, DF32(), to);
        });
      });
    }
  }
}

template <bool kAdd>
void dequantise_any(int bits, const float* scales, const std::byte* codes, std::size_t buckets,
                    float* out) {
  switch (bits) {
    case 2:
      return dequantise_bits<2, kAdd>(scales, codes, buckets, out);
    case 4:
      return dequantise_bits<4, kAdd>(scales, codes, buckets, out);
    default:
      return dequantise_bits<8, kAdd>(scales, codes, buckets, out);
  }
}

bool dequantise_buckets(int bits, const float* scales, const std::byte* codes, std::size_t buckets,
                        bool add, float* out) {
  if (add) {
    dequantise_any<true>(bits, scales, codes, buckets, out);
  } else {
    dequantise_any<false>(bits, scales, codes, buckets, out);
  }
  return true;
}

#else

bool dequantise_buckets(int, const float*, const std::byte*, std::size_t, bool, float*) {
  return false;
}

#endif  // UNISONO_HAS_VECTORS

}  // namespace unisono::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unisono::kernels {
namespace {
HWY_EXPORT(dequantise_buckets);
}

bool simd::dequantise(int bits, const float* scales, const std::byte* codes, std::size_t buckets,
                      bool add, float* out) {
  return HWY_DYNAMIC_DISPATCH(dequantise_buckets)(bits, scales, codes, buckets, add, out);
}
}  // namespace unisono::kernels
#endif
