// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// reduce_many in one pass: a block of accumulator vectors is loaded from the first input,
// every further input is applied to it in order, and it is stored once. All loads of a block come
// before its stores, so out may be one of the inputs.
#include "kernels/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce_simd.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include <limits>
#include <type_traits>

#include "kernels/kernels_simd.hpp"
#include "kernels/small_float_vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace unisono::kernels::HWY_NAMESPACE {

#if UNISONO_HAS_VECTORS

// How a dtype fills accumulators: kGroup vectors of D at a time, kGroup * Lanes(D) elements.

// A type that computes as it is stored.
template <typename T>
struct PlainLanes {
  using Stored = T;
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  static constexpr std::size_t kGroup = 1;
  static HWY_INLINE void load(const T* from, V* to) { to[0] = load_vector(D(), from); }
  static HWY_INLINE void store(const V* from, T* to) { store_vector(from[0], D(), to); }
};

struct F16Lanes {
  using Stored = std::uint16_t;
  using D = DF32;
  static constexpr std::size_t kGroup = 1;
  static HWY_INLINE void load(const std::uint16_t* from, VF32* to) { to[0] = load_f16(from); }
  static HWY_INLINE void store(const VF32* from, std::uint16_t* to) { store_f16(from[0], to); }
};

struct Bf16Lanes {
  using Stored = std::uint16_t;
  using D = DF32;
  static constexpr std::size_t kGroup = 2;
  static HWY_INLINE void load(const std::uint16_t* from, VF32* to) {
    const Bf16Pair pair = load_bf16(from);
    to[0] = pair.even;
    to[1] = pair.odd;
  }
  static HWY_INLINE void store(const VF32* from, std::uint16_t* to) {
    store_bf16({from[0], from[1]}, to);
  }
};

// Any byte but 0 counts as 1.
struct BooleanLanes {
  using Stored = std::uint8_t;
  using D = hn::ScalableTag<std::uint8_t>;
  using V = hn::Vec<D>;
  static constexpr std::size_t kGroup = 1;
  static HWY_INLINE void load(const std::uint8_t* from, V* to) {
    to[0] = hn::Min(load_vector(D(), from), hn::Set(D(), 1));
  }
  static HWY_INLINE void store(const V* from, std::uint8_t* to) { store_vector(from[0], D(), to); }
};

struct Sum {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) { return hn::Add(a, b); }
};
struct Product {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) { return hn::Mul(a, b); }
};
struct Both {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) { return hn::And(a, b); }
};
struct Either {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) { return hn::Or(a, b); }
};

// Equal operands differ at most in the sign of zero: "or" gives their min, "and" their max.
template <bool kMin>
struct Extreme {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    using T = hn::TFromD<D>;
    if constexpr (hwy::IsFloat<T>()) {
      const V equal = kMin ? hn::Or(a, b) : hn::And(a, b);
      const V ordered = hn::IfThenElse(hn::Lt(a, b), kMin ? a : b, kMin ? b : a);
      const V number = hn::IfThenElse(hn::Eq(a, b), equal, ordered);
      const auto both_numbers = hn::And(hn::Eq(a, a), hn::Eq(b, b));
      const V nan = hn::Set(d, std::numeric_limits<T>::quiet_NaN());
      return hn::IfThenElse(both_numbers, number, nan);
    } else {
      return kMin ? hn::Min(a, b) : hn::Max(a, b);
    }
  }
};

// Reduces blocks of kGroups groups as long as whole blocks fit. kInputs 0: n says how many inputs.
template <class Lanes, class Op, std::size_t kInputs, std::size_t kGroups>
HWY_INLINE std::size_t reduce_blocks(void* out, const void* const* inputs, std::size_t n,
                                     std::size_t first, std::size_t count) {
  using Stored = typename Lanes::Stored;
  using V = hn::Vec<typename Lanes::D>;
  constexpr std::size_t group = Lanes::kGroup;
  const typename Lanes::D d;
  const std::size_t stride = group * hn::Lanes(d);  // elements in a group
  const std::size_t inputs_count = kInputs != 0 ? kInputs : n;
  auto* const to = static_cast<Stored*>(out);
  std::size_t i = first;
  for (; i + kGroups * stride <= count; i += kGroups * stride) {
    V block[kGroups * group];
    const auto* from = static_cast<const Stored*>(inputs[0]) + i;
    for (std::size_t g = 0; g < kGroups; ++g) Lanes::load(from + g * stride, block + g * group);
    for (std::size_t k = 1; k < inputs_count; ++k) {
      from = static_cast<const Stored*>(inputs[k]) + i;
      for (std::size_t g = 0; g < kGroups; ++g) {
        V next[group];
        Lanes::load(from + g * stride, next);
        for (std::size_t v = 0; v < group; ++v) {
          block[g * group + v] = Op::apply(d, block[g * group + v], next[v]);
        }
      }
    }
    for (std::size_t g = 0; g < kGroups; ++g) Lanes::store(block + g * group, to + i + g * stride);
  }
  return i;
}

template <class Lanes, class Op, std::size_t kInputs>
HWY_NOINLINE std::size_t reduce_inputs(void* out, const void* const* inputs, std::size_t n,
                                       std::size_t count) {
  constexpr std::size_t groups = 4 / Lanes::kGroup;
  const std::size_t done = reduce_blocks<Lanes, Op, kInputs, groups>(out, inputs, n, 0, count);
  return reduce_blocks<Lanes, Op, kInputs, 1>(out, inputs, n, done, count);
}

template <class Lanes, class Op>
std::size_t reduce_lanes(void* out, const void* const* inputs, std::size_t n, std::size_t count) {
  switch (n) {
    case 2: return reduce_inputs<Lanes, Op, 2>(out, inputs, n, count);
    case 3: return reduce_inputs<Lanes, Op, 3>(out, inputs, n, count);
    case 4: return reduce_inputs<Lanes, Op, 4>(out, inputs, n, count);
    default: return reduce_inputs<Lanes, Op, 0>(out, inputs, n, count);
  }
}

// Sums and products of signed integers are those of unsigned ones, bit for bit, and unsigned ones
// may wrap: Wrapping is Lanes without the sign. kProducts: whether targets multiply this width.
template <class Lanes, bool kProducts, class Wrapping = Lanes>
std::size_t reduce_numbers(ReduceOp op, void* out, const void* const* inputs, std::size_t n,
                           std::size_t count) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::average: return reduce_lanes<Wrapping, Sum>(out, inputs, n, count);
    case ReduceOp::min: return reduce_lanes<Lanes, Extreme<true>>(out, inputs, n, count);
    case ReduceOp::max: return reduce_lanes<Lanes, Extreme<false>>(out, inputs, n, count);
    case ReduceOp::product:
      if constexpr (kProducts) return reduce_lanes<Wrapping, Product>(out, inputs, n, count);
      return 0;
    default: return 0;
  }
}

std::size_t reduce_booleans(ReduceOp op, void* out, const void* const* inputs, std::size_t n,
                            std::size_t count) {
  switch (op) {
    case ReduceOp::min:
    case ReduceOp::product:
    case ReduceOp::logical_and: return reduce_lanes<BooleanLanes, Both>(out, inputs, n, count);
    default: return reduce_lanes<BooleanLanes, Either>(out, inputs, n, count);
  }
}

template <typename T, bool kProducts>
std::size_t reduce_integers(ReduceOp op, void* out, const void* const* inputs, std::size_t n,
                            std::size_t count) {
  using Unsigned = PlainLanes<std::make_unsigned_t<T>>;
  return reduce_numbers<PlainLanes<T>, kProducts, Unsigned>(op, out, inputs, n, count);
}

std::size_t reduce_dtype(DType dtype, ReduceOp op, void* out, const void* const* in,
                         std::size_t n, std::size_t count) {
  switch (dtype) {
    case DType::f32: return reduce_numbers<PlainLanes<float>, true>(op, out, in, n, count);
    case DType::f64: return reduce_numbers<PlainLanes<double>, true>(op, out, in, n, count);
    case DType::f16: return reduce_numbers<F16Lanes, true>(op, out, in, n, count);
    case DType::bf16: return reduce_numbers<Bf16Lanes, true>(op, out, in, n, count);
    case DType::i8: return reduce_integers<std::int8_t, false>(op, out, in, n, count);
    case DType::i16: return reduce_integers<std::int16_t, true>(op, out, in, n, count);
    case DType::i32: return reduce_integers<std::int32_t, true>(op, out, in, n, count);
    case DType::i64: return reduce_integers<std::int64_t, false>(op, out, in, n, count);
    case DType::u8: return reduce_integers<std::uint8_t, false>(op, out, in, n, count);
    case DType::u16: return reduce_integers<std::uint16_t, true>(op, out, in, n, count);
    case DType::u32: return reduce_integers<std::uint32_t, true>(op, out, in, n, count);
    case DType::u64: return reduce_integers<std::uint64_t, false>(op, out, in, n, count);
    case DType::boolean: return reduce_booleans(op, out, in, n, count);
    default: return 0;
  }
}

#else

std::size_t reduce_dtype(DType, ReduceOp, void*, const void* const*, std::size_t, std::size_t) {
  return 0;
}

#endif  // UNISONO_HAS_VECTORS

}  // namespace unisono::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unisono::kernels {
namespace {
HWY_EXPORT(reduce_dtype);
}

std::size_t simd::reduce_many(DType dtype, ReduceOp op, void* out,
                              std::span<const void* const> inputs, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(reduce_dtype)(dtype, op, out, inputs.data(), inputs.size(), count);
}
}  // namespace unisono::kernels
#endif
