// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// scale for floats, and casts between f32 and the 16-bit floats.
#include "kernels/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/convert_simd.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "kernels/kernels_simd.hpp"
#include "kernels/small_float_vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace unisono::kernels::HWY_NAMESPACE {

#if UNISONO_HAS_VECTORS

template <typename T>
std::size_t scale_plain(void* out, const void* in, double factor, std::size_t count) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto times = hn::Set(d, static_cast<T>(factor));
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto value = load_vector(d, static_cast<const T*>(in) + i);
    store_vector(hn::Mul(value, times), d, static_cast<T*>(out) + i);
  }
  return i;
}

// load returns f32 lanes, change maps them, store writes them; element sizes are the stored types'.
template <typename To, typename From, class Load, class Change, class Store>
HWY_INLINE std::size_t map_f32(void* out, const void* in, std::size_t count, Load load,
                               Change change, Store store) {
  const std::size_t lanes = hn::Lanes(DF32());
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    store(change(load(static_cast<const From*>(in) + i)), static_cast<To*>(out) + i);
  }
  return i;
}

HWY_INLINE VF32 load_f32(const float* from) { return load_vector(DF32(), from); }
HWY_INLINE void store_f32(VF32 value, float* to) { store_vector(value, DF32(), to); }
HWY_INLINE VF32 unchanged(VF32 value) { return value; }

std::size_t scale_dtype(DType dtype, void* out, const void* in, double factor, std::size_t count) {
  const VF32 times = hn::Set(DF32(), static_cast<float>(factor));
  const auto change = [times](VF32 value) HWY_ATTR { return hn::Mul(value, times); };
  using U16 = std::uint16_t;
  switch (dtype) {
    case DType::f32: return scale_plain<float>(out, in, factor, count);
    case DType::f64: return scale_plain<double>(out, in, factor, count);
    case DType::f16: return map_f32<U16, U16>(out, in, count, load_f16, change, store_f16);
    case DType::bf16: return map_f32<U16, U16>(out, in, count, widen_bf16, change, narrow_bf16);
    default: return 0;
  }
}

std::size_t cast_dtype(DType to, void* out, DType from, const void* in, std::size_t count) {
  using U16 = std::uint16_t;
  if (to == DType::f32 && from == DType::f16) {
    return map_f32<float, U16>(out, in, count, load_f16, unchanged, store_f32);
  }
  if (to == DType::f32 && from == DType::bf16) {
    return map_f32<float, U16>(out, in, count, widen_bf16, unchanged, store_f32);
  }
  if (to == DType::f16 && from == DType::f32) {
    return map_f32<U16, float>(out, in, count, load_f32, unchanged, store_f16);
  }
  if (to == DType::bf16 && from == DType::f32) {
    return map_f32<U16, float>(out, in, count, load_f32, unchanged, narrow_bf16);
  }
  return 0;
}

#else

std::size_t scale_dtype(DType, void*, const void*, double, std::size_t) { return 0; }
std::size_t cast_dtype(DType, void*, DType, const void*, std::size_t) { return 0; }

#endif  // UNISONO_HAS_VECTORS

}  // namespace unisono::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unisono::kernels {
namespace {
HWY_EXPORT(scale_dtype);
HWY_EXPORT(cast_dtype);
}  // namespace

std::size_t simd::scale(DType dtype, void* out, const void* in, double factor, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(scale_dtype)(dtype, out, in, factor, count);
}

std::size_t simd::cast(DType to, void* out, DType from, const void* in, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(cast_dtype)(to, out, from, in, count);
}
}  // namespace unisono::kernels
#endif
