// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// 8-bit floats, bit for bit as float_formats.hpp converts them.
#include "kernels/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/quantise/fp8_simd.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include <cstring>

#include "kernels/quantise/bucket_vectors-inl.hpp"
#include "kernels/quantise/quantise_reference.hpp"
#include "kernels/quantise/quantise_simd.hpp"

HWY_BEFORE_NAMESPACE();
namespace unisono::kernels::HWY_NAMESPACE {

#if UNISONO_HAS_VECTORS

struct E4m3 {
  static constexpr DType kFormat = DType::f8e4m3;
  static constexpr int kMantissa = 3, kBias = 7;
  static constexpr std::int32_t kLargestCode = 0x7E;
};
struct E5m2 {
  static constexpr DType kFormat = DType::f8e5m2;
  static constexpr int kMantissa = 2, kBias = 15;
  static constexpr std::int32_t kLargestCode = 0x7B;
};

// The code of a number within the format's range, in the low byte of each lane.
template <class Format>
HWY_INLINE VI32 fp8_code(VF32 value) {
  constexpr int shift = 23 - Format::kMantissa;
  constexpr std::int32_t rebias = (127 - Format::kBias) << 23;
  constexpr std::int32_t smallest_normal = (128 - Format::kBias) << 23;
  // Its last bit weighs as much as the format's smallest step.
  constexpr std::int32_t magic = (127 + 24 - Format::kBias - Format::kMantissa) << 23;
  const DI32 d;
  const VI32 bits = hn::BitCast(d, value);
  const VI32 magnitude = hn::And(bits, hn::Set(d, 0x7FFFFFFF));
  const VI32 odd = hn::And(hn::ShiftRight<shift>(magnitude), hn::Set(d, 1));
  const VI32 half = hn::Set(d, (1 << (shift - 1)) - 1 - rebias);
  const VI32 normal = hn::ShiftRight<shift>(hn::Add(hn::Add(magnitude, half), odd));
  const VF32 moved =
      hn::Add(hn::BitCast(DF32(), magnitude), hn::BitCast(DF32(), hn::Set(d, magic)));
  const VI32 subnormal = hn::Sub(hn::BitCast(d, moved), hn::Set(d, magic));
  const auto is_small = hn::Lt(magnitude, hn::Set(d, smallest_normal));
  // v * (s / max) exceeds s by a rounding at most; that has the code of s, or the next.
  const VI32 code =
      hn::Min(hn::IfThenElse(is_small, subnormal, normal), hn::Set(d, Format::kLargestCode));
  return hn::Or(code, hn::And(hn::ShiftRight<24>(bits), hn::Set(d, 0x80)));
}

template <class Format>
HWY_INLINE VF32 fp8_value(VI32 bits) {
  constexpr std::int32_t rebias = (127 - Format::kBias) << 23;
  constexpr std::int32_t step = (127 + 1 - Format::kBias - Format::kMantissa) << 23;
  const DI32 d;
  const VI32 code = hn::And(bits, hn::Set(d, 0x7F));
  const VI32 shifted = hn::ShiftLeft<23 - Format::kMantissa>(code);
  const VI32 subnormal =
      hn::BitCast(d, hn::Mul(hn::ConvertTo(DF32(), code), hn::BitCast(DF32(), hn::Set(d, step))));
  VI32 magnitude = hn::Add(shifted, hn::Set(d, rebias));
  magnitude =
      hn::IfThenElse(hn::Lt(code, hn::Set(d, 1 << Format::kMantissa)), subnormal, magnitude);
  const auto special = hn::Gt(code, hn::Set(d, Format::kLargestCode));
  VI32 beyond = hn::Set(d, static_cast<std::int32_t>(kF32Infinity | kF32Quiet));
  if constexpr (Format::kFormat == DType::f8e5m2) {
    const auto infinite = hn::Eq(code, hn::Set(d, Format::kLargestCode + 1));
    beyond = hn::IfThenElse(infinite, hn::Set(d, static_cast<std::int32_t>(kF32Infinity)), beyond);
  }
  magnitude = hn::IfThenElse(special, beyond, magnitude);
  const VI32 sign = hn::ShiftLeft<24>(hn::And(bits, hn::Set(d, 0x80)));
  return hn::BitCast(DF32(), hn::Or(magnitude, sign));
}

template <class Format>
HWY_NOINLINE void encode_fp8(const float* values, std::size_t buckets, float* scales,
                             std::byte* codes) {
  for (std::size_t b = 0; b < buckets; ++b, values += kQuantiseBucket, codes += kQuantiseBucket) {
    const BucketScale scale =
        bucket_scale(largest_of_vectors(values, kQuantiseBucket), fp8_levels(Format::kFormat));
    std::memcpy(reinterpret_cast<std::byte*>(scales) + b * sizeof(float), &scale.scale,
                sizeof(float));
    if (scale.inverse == 0) {
      std::memset(codes, 0, kQuantiseBucket);
      continue;
    }
    const VF32 times = hn::Set(DF32(), scale.inverse);
    for (std::size_t i = 0; i < kQuantiseBucket; i += 4 * kLanes) {
      VI32 code[4];
      for (std::size_t v = 0; v < 4; ++v) {
        code[v] = fp8_code<Format>(hn::Mul(load_vector(DF32(), values + i + v * kLanes), times));
      }
      store_vector(narrow_to_8(narrow_to_16(code[0], code[1]), narrow_to_16(code[2], code[3])),
                   DU8(), codes + i);
    }
  }
}

template <class Format, bool kAdd>
HWY_NOINLINE void decode_fp8(const float* scales, const std::byte* codes, std::size_t buckets,
                             float* out) {
  const hn::Full128<std::uint8_t> bytes;
  for (std::size_t b = 0; b < buckets; ++b) {
    float scale;
    std::memcpy(&scale, reinterpret_cast<const std::byte*>(scales) + b * sizeof scale,
                sizeof scale);
    const VF32 step = hn::Set(DF32(), scale / fp8_levels(Format::kFormat));
    for (std::size_t i = 0; i < kQuantiseBucket; i += 16, codes += 16, out += 16) {
      const auto some = hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(codes));
      widen_16_bytes<std::uint8_t>(DI32(), some, [&](std::size_t at, VI32 code) HWY_ATTR {
        VF32 value = hn::Mul(fp8_value<Format>(code), step);
        if constexpr (kAdd) value = hn::Add(load_vector(DF32(), out + at), value);
        store_vector(value, DF32(), out + at);
      });
    }
  }
}

bool encode_fp8_buckets(DType format, const float* values, std::size_t buckets, float* scales,
                        std::byte* codes) {
  if (format == DType::f8e4m3) {
    encode_fp8<E4m3>(values, buckets, scales, codes);
  } else {
    encode_fp8<E5m2>(values, buckets, scales, codes);
  }
  return true;
}

template <class Format>
void decode_fp8_format(const float* scales, const std::byte* codes, std::size_t buckets, bool add,
                       float* out) {
  if (add) {
    decode_fp8<Format, true>(scales, codes, buckets, out);
  } else {
    decode_fp8<Format, false>(scales, codes, buckets, out);
  }
}

bool decode_fp8_buckets(DType format, const float* scales, const std::byte* codes,
                        std::size_t buckets, bool add, float* out) {
  if (format == DType::f8e4m3) {
    decode_fp8_format<E4m3>(scales, codes, buckets, add, out);
  } else {
    decode_fp8_format<E5m2>(scales, codes, buckets, add, out);
  }
  return true;
}

#else

bool encode_fp8_buckets(DType, const float*, std::size_t, float*, std::byte*) {
  return false;
}
bool decode_fp8_buckets(DType, const float*, const std::byte*, std::size_t, bool, float*) {
  return false;
}

#endif  // UNISONO_HAS_VECTORS

}  // namespace unisono::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unisono::kernels {
namespace {
HWY_EXPORT(encode_fp8_buckets);
HWY_EXPORT(decode_fp8_buckets);
}  // namespace

bool simd::quantise_fp8(DType format, const float* values, std::size_t buckets, float* scales,
                        std::byte* codes) {
  return HWY_DYNAMIC_DISPATCH(encode_fp8_buckets)(format, values, buckets, scales, codes);
}

bool simd::dequantise_fp8(DType format, const float* scales, const std::byte* codes,
                          std::size_t buckets, bool add, float* out) {
  return HWY_DYNAMIC_DISPATCH(decode_fp8_buckets)(format, scales, codes, buckets, add, out);
}
}  // namespace unisono::kernels
#endif
