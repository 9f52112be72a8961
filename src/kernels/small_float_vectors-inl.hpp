// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Vectors of f16 and bf16 to and from f32, equal bit for bit to float_formats.hpp.
// Included once per SIMD target, by files that include hwy/foreach_target.h.

#if defined(UNISONO_KERNELS_SMALL_FLOAT_LANES) == defined(HWY_TARGET_TOGGLE)
#ifdef UNISONO_KERNELS_SMALL_FLOAT_LANES
#undef UNISONO_KERNELS_SMALL_FLOAT_LANES
#else
#define UNISONO_KERNELS_SMALL_FLOAT_LANES
#endif

#include <cstdint>

#include "hwy/highway.h"

// Targets without vectors leave all the work to the scalar reference.
#undef UNISONO_HAS_VECTORS
#define UNISONO_HAS_VECTORS (HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128)
// Where f16 conversion is an instruction.
#undef UNISONO_HAS_F16_CONVERSION
#define UNISONO_HAS_F16_CONVERSION (HWY_TARGET == HWY_NEON || HWY_TARGET <= HWY_AVX2)

HWY_BEFORE_NAMESPACE();
namespace unisono::kernels::HWY_NAMESPACE {

#if UNISONO_HAS_VECTORS
namespace hn = hwy::HWY_NAMESPACE;

// A full vector of f32, and the half vector of 16-bit lanes that matches it.
using DF32 = hn::ScalableTag<float>;
using DU32 = hn::RebindToUnsigned<DF32>;
using DI32 = hn::RebindToSigned<DF32>;
using DU16 = hn::Rebind<std::uint16_t, DF32>;
using VF32 = hn::Vec<DF32>;
using VU32 = hn::Vec<DU32>;

// Loads and stores at any address. Copying bytes keeps the compiler from assuming an alignment.
template <class D>
HWY_INLINE hn::Vec<D> load_vector(D d, const void* from) {
  const hn::Repartition<std::uint8_t, D> bytes;
  return hn::BitCast(d, hn::LoadU(bytes, static_cast<const std::uint8_t*>(from)));
}

template <class D>
HWY_INLINE void store_vector(hn::Vec<D> value, D, void* to) {
  const hn::Repartition<std::uint8_t, D> bytes;
  hn::StoreU(hn::BitCast(bytes, value), bytes, static_cast<std::uint8_t*>(to));
}

// bf16 is handled a full vector at a time, with its even and odd lanes apart: that needs no
// shuffles. The store restores the lane order within the pair.
struct Bf16Pair {
  VF32 even, odd;
};

HWY_INLINE Bf16Pair load_bf16(const std::uint16_t* from) {
  const hn::Repartition<std::uint16_t, DF32> d16;
  const VU32 both = hn::BitCast(DU32(), load_vector(d16, from));
  const VU32 odd = hn::And(both, hn::Set(DU32(), 0xFFFF0000u));
  return {hn::BitCast(DF32(), hn::ShiftLeft<16>(both)), hn::BitCast(DF32(), odd)};
}

// The bf16 code of each lane is in its upper half; the lower half is undefined.
HWY_INLINE VU32 bf16_code(VF32 value) {
  const DU32 du;
  const VU32 bits = hn::BitCast(du, value);
  const VU32 last_bit = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
  const VU32 rounded = hn::Add(hn::Add(bits, hn::Set(du, 0x7FFF)), last_bit);
  const VU32 nan = hn::Or(bits, hn::Set(du, 0x400000));
  return hn::IfThenElse(hn::RebindMask(du, hn::Eq(value, value)), rounded, nan);
}

HWY_INLINE void store_bf16(Bf16Pair value, std::uint16_t* to) {
  const hn::Repartition<std::uint16_t, DF32> d16;
  const VU32 even = hn::ShiftRight<16>(bf16_code(value.even));
  const VU32 odd = hn::And(bf16_code(value.odd), hn::Set(DU32(), 0xFFFF0000u));
  store_vector(hn::BitCast(d16, hn::Or(even, odd)), d16, to);
}

HWY_INLINE VF32 widen_bf16(const std::uint16_t* from) {
  return hn::BitCast(DF32(), hn::ShiftLeft<16>(hn::PromoteTo(DU32(), load_vector(DU16(), from))));
}

HWY_INLINE void narrow_bf16(VF32 value, std::uint16_t* to) {
  store_vector(hn::TruncateTo(DU16(), hn::ShiftRight<16>(bf16_code(value))), DU16(), to);
}

#if UNISONO_HAS_F16_CONVERSION

HWY_INLINE VF32 load_f16(const std::uint16_t* from) {
  const hn::Rebind<hwy::float16_t, DF32> df16;
  return hn::PromoteTo(DF32(), hn::BitCast(df16, load_vector(DU16(), from)));
}

HWY_INLINE void store_f16(VF32 value, std::uint16_t* to) {
  const hn::Rebind<hwy::float16_t, DF32> df16;
  store_vector(hn::BitCast(DU16(), hn::DemoteTo(df16, value)), DU16(), to);
}

#else

HWY_INLINE VF32 load_f16(const std::uint16_t* from) {
  const DU32 du;
  const VU32 bits = hn::PromoteTo(du, load_vector(DU16(), from));
  const VU32 code = hn::And(bits, hn::Set(du, 0x7FFF));
  const VU32 normal = hn::Add(hn::ShiftLeft<13>(code), hn::Set(du, (127u - 15) << 23));
  const auto step = hn::Set(DF32(), 0x1.0p-24f);
  const VU32 subnormal = hn::BitCast(
      du, hn::Mul(hn::ConvertTo(DF32(), hn::BitCast(DI32(), code)), step));
  const VU32 payload = hn::ShiftLeft<13>(hn::And(code, hn::Set(du, 0x3FF)));
  const VU32 quiet = hn::IfThenZeroElse(hn::Eq(payload, hn::Zero(du)), hn::Set(du, 0x400000));
  const VU32 special = hn::Or(hn::Or(payload, quiet), hn::Set(du, 0x7F800000));
  // Codes fit 31 bits, so the signed comparison that every target has is enough.
  const auto small = hn::RebindMask(
      du, hn::Lt(hn::BitCast(DI32(), code), hn::Set(DI32(), 0x400)));
  const auto large = hn::RebindMask(
      du, hn::Gt(hn::BitCast(DI32(), code), hn::Set(DI32(), 0x7BFF)));
  const VU32 magnitude = hn::IfThenElse(small, subnormal, hn::IfThenElse(large, special, normal));
  const VU32 sign = hn::ShiftLeft<16>(hn::AndNot(hn::Set(du, 0x7FFF), bits));
  return hn::BitCast(DF32(), hn::Or(magnitude, sign));
}

HWY_INLINE void store_f16(VF32 value, std::uint16_t* to) {
  const DU32 du;
  const DI32 di;
  const VU32 bits = hn::BitCast(du, value);
  const VU32 magnitude = hn::And(bits, hn::Set(du, 0x7FFFFFFF));
  const VU32 sign = hn::ShiftRight<16>(hn::AndNot(hn::Set(du, 0x7FFFFFFF), bits));
  const VU32 odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 1));
  const VU32 half = hn::Add(odd, hn::Set(du, 0xFFF));
  const VU32 normal = hn::ShiftRight<13>(
      hn::Sub(hn::Add(magnitude, half), hn::Set(du, (127u - 15) << 23)));
  const VF32 magic = hn::Set(DF32(), 0.5f);
  const VU32 subnormal = hn::Sub(
      hn::BitCast(du, hn::Add(hn::BitCast(DF32(), magnitude), magic)), hn::BitCast(du, magic));
  const VU32 nan = hn::Or(hn::Set(du, 0x7E00),
                          hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 0x3FF)));
  const auto compared = hn::BitCast(di, magnitude);
  const auto is_small = hn::RebindMask(du, hn::Lt(compared, hn::Set(di, 0x38800000)));
  const auto is_large = hn::RebindMask(du, hn::Gt(compared, hn::Set(di, 0x477FEFFF)));
  const auto is_nan = hn::RebindMask(du, hn::Gt(compared, hn::Set(di, 0x7F800000)));
  VU32 code = hn::IfThenElse(is_small, subnormal, normal);
  code = hn::IfThenElse(is_large, hn::Set(du, 0x7C00), code);
  code = hn::IfThenElse(is_nan, nan, code);
  store_vector(hn::TruncateTo(DU16(), hn::Or(code, sign)), DU16(), to);
}

#endif  // UNISONO_HAS_F16_CONVERSION
#endif  // UNISONO_HAS_VECTORS

}  // namespace unisono::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
