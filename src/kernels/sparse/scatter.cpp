// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Scatter into a segment. The places are anywhere, so what it takes is waiting for memory: a value
// is stored or combined without a branch on whether it is the first, which nobody could predict.
#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.hpp"
#include "kernels/element.hpp"
#include "kernels/kernels.hpp"
#include "kernels/operators.hpp"
#include "kernels/sparse/sparse.hpp"

namespace unisono::kernels {

namespace {

constexpr std::size_t kScatterBlock = 256;  // pairs that are widened or gathered at a time
constexpr std::size_t kScatterAhead = 24;   // pairs whose places are asked for before their turn

template <typename E, ReduceOp kOp, typename I>
void scatter_values(const Accumulators& into, const I* indices, const void* values,
                    std::size_t count, std::uint64_t base) {
  const auto* const places = static_cast<const std::byte*>(into.values);
  for (std::size_t i = 0; i < count; ++i) {
    if (i + kScatterAhead < count) {
      const auto later = static_cast<std::size_t>(indices[i + kScatterAhead] - base);
      __builtin_prefetch(places + later * sizeof(typename E::Stored), 1);
    }
    const auto at = static_cast<std::size_t>(indices[i] - base);
    std::uint64_t& word = into.present[at / 64];
    const std::uint64_t bit = std::uint64_t{1} << (at % 64);
    const auto value = load_element<E>(values, i);
    const bool there = (word & bit) != 0;
    word |= bit;
    // What is not there yet is rubbish, which may be combined but not kept.
    const auto sum = apply<kOp>(load_element<E>(into.values, at), value);
    store_element<E>(into.values, at, there ? sum : value);
  }
}

// A user's function gets many values at a time: those that are there are brought together.
template <typename I>
void scatter_by_user(const Operator& op, const Accumulators& into, const I* indices,
                     const void* values, std::size_t count, std::uint64_t base) {
  const std::size_t width = size_of(into.dtype);
  auto* const target = static_cast<std::byte*>(into.values);
  const auto* const source = static_cast<const std::byte*>(values);
  alignas(64) std::byte mine[kScatterBlock * 8], other[kScatterBlock * 8];
  std::array<std::size_t, kScatterBlock> places;
  std::size_t held = 0;
  const auto flush = [&] {
    if (held == 0) return;
    op.user->combine(mine, other, held);
    for (std::size_t i = 0; i < held; ++i) {
      std::memcpy(target + places[i] * width, mine + i * width, width);
    }
    held = 0;
  };
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(indices[i] - base);
    std::uint64_t& word = into.present[at / 64];
    const std::uint64_t bit = std::uint64_t{1} << (at % 64);
    if ((word & bit) == 0) {
      word |= bit;
      std::memcpy(target + at * width, source + i * width, width);
      continue;
    }
    std::memcpy(mine + held * width, target + at * width, width);
    std::memcpy(other + held * width, source + i * width, width);
    places[held++] = at;
    if (held == kScatterBlock) flush();
  }
  flush();
}

template <typename I>
void scatter_alike(const Operator& op, const Accumulators& into, const I* indices,
                   const void* values, std::size_t count, std::uint64_t base) {
  if (op.user != nullptr) return scatter_by_user(op, into, indices, values, count, base);
  visit_dtype(into.dtype, [&](auto element) {
    visit_op(op.op, [&](auto kind) {
      scatter_values<decltype(element), decltype(kind)::value>(into, indices, values, count, base);
    });
  });
}

template <typename I>
void scatter_any(const Operator& op, const Accumulators& into, const I* indices,
                 const Pairs& pairs) {
  if (pairs.dtype == into.dtype) {
    return scatter_alike(op, into, indices, pairs.values, pairs.count, pairs.base);
  }
  UNISONO_CHECK(into.dtype == DType::f32 && op.has_partials(pairs.dtype));
  std::array<float, kScatterBlock> wide;
  const std::size_t width = size_of(pairs.dtype);
  for (std::size_t begin = 0; begin < pairs.count; begin += kScatterBlock) {
    const std::size_t count = std::min(kScatterBlock, pairs.count - begin);
    cast(DType::f32, wide.data(), pairs.dtype,
         static_cast<const std::byte*>(pairs.values) + begin * width, count);
    scatter_alike(op, into, indices + begin, wide.data(), count, pairs.base);
  }
}

}  // namespace

void scatter_reduce(const Operator& op, const Accumulators& into, const Pairs& pairs) {
  if (pairs.count == 0) return;
  if (pairs.narrow != nullptr) return scatter_any(op, into, pairs.narrow, pairs);
  scatter_any(op, into, pairs.wide, pairs);
}

}  // namespace unisono::kernels
