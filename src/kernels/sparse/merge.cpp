// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Two streams into one. Which side is next cannot be predicted, so both are read and what counts is
// selected, without a branch.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/check.hpp"
#include "kernels/element.hpp"
#include "kernels/kernels.hpp"
#include "kernels/operators.hpp"
#include "kernels/sparse/sparse.hpp"

namespace unisono::kernels {

namespace {

template <typename I>
struct MergeSide {
  const I* indices;
  const std::byte* values;
  std::size_t count;
};

template <typename I>
struct MergeTarget {
  I* indices;
  std::byte* values;
  std::size_t capacity;
};

// What is left of a side when the other has ended. None when it does not fit.
template <typename I>
std::optional<std::size_t> append_rest(const MergeSide<I>& side, std::size_t from,
                                       const MergeTarget<I>& out, std::size_t count,
                                       std::size_t width) {
  const std::size_t rest = side.count - from;
  if (rest > out.capacity - count) return std::nullopt;
  if (rest == 0) return count;
  std::memcpy(out.indices + count, side.indices + from, rest * sizeof(I));
  std::memcpy(out.values + count * width, side.values + from * width, rest * width);
  return count + rest;
}

template <typename E, ReduceOp kOp, typename I>
std::optional<std::size_t> merge_values(const MergeSide<I>& a, const MergeSide<I>& b,
                                        const MergeTarget<I>& out) {
  std::size_t i = 0, j = 0, count = 0;
  while (i < a.count && j < b.count) {
    if (count == out.capacity) return std::nullopt;
    const I left = a.indices[i], right = b.indices[j];
    const auto mine = load_element<E>(a.values, i), other = load_element<E>(b.values, j);
    const auto single = left < right ? mine : other;
    out.indices[count] = left < right ? left : right;
    store_element<E>(out.values, count, left == right ? apply<kOp>(mine, other) : single);
    i += left <= right ? 1 : 0;
    j += right <= left ? 1 : 0;
    ++count;
  }
  constexpr std::size_t width = sizeof(typename E::Stored);
  const auto both = append_rest(a, i, out, count, width);
  return both && i == a.count ? append_rest(b, j, out, *both, width) : both;
}

// With a user's function: where the indices meet is found first, and then combined run by run.
template <typename I>
std::optional<std::size_t> merge_by_user(const Operator& op, DType dtype, const MergeSide<I>& a,
                                         const MergeSide<I>& b, const MergeTarget<I>& out) {
  constexpr std::size_t kTogether = 256;
  const std::size_t width = size_of(dtype);
  alignas(64) std::byte mine[kTogether * 8], other[kTogether * 8];
  std::vector<std::size_t> places;
  places.reserve(kTogether);
  const auto flush = [&] {
    if (places.empty()) return;
    op.user->combine(mine, other, places.size());
    for (std::size_t k = 0; k < places.size(); ++k) {
      std::memcpy(out.values + places[k] * width, mine + k * width, width);
    }
    places.clear();
  };
  std::size_t i = 0, j = 0, count = 0;
  while (i < a.count && j < b.count) {
    if (count == out.capacity) return std::nullopt;
    const I left = a.indices[i], right = b.indices[j];
    out.indices[count] = std::min(left, right);
    if (left == right) {
      std::memcpy(mine + places.size() * width, a.values + i * width, width);
      std::memcpy(other + places.size() * width, b.values + j * width, width);
      places.push_back(count);
      if (places.size() == kTogether) flush();
    } else {
      const std::byte* from = left < right ? a.values + i * width : b.values + j * width;
      std::memcpy(out.values + count * width, from, width);
    }
    i += left <= right ? 1 : 0;
    j += right <= left ? 1 : 0;
    ++count;
  }
  flush();
  const auto both = append_rest(a, i, out, count, width);
  return both && i == a.count ? append_rest(b, j, out, *both, width) : both;
}

template <typename I>
std::optional<std::size_t> merge_sides(const Operator& op, DType dtype, const MergeSide<I>& a,
                                       const MergeSide<I>& b, const MergeTarget<I>& out) {
  if (op.user != nullptr) return merge_by_user(op, dtype, a, b, out);
  return visit_dtype(dtype, [&](auto element) {
    return visit_op(op.op, [&](auto kind) {
      return merge_values<decltype(element), decltype(kind)::value>(a, b, out);
    });
  });
}

// The values as the result has them; widened ones are kept in `held`.
const std::byte* values_as(DType dtype, const Pairs& pairs, std::vector<float>& held) {
  if (pairs.dtype == dtype) return static_cast<const std::byte*>(pairs.values);
  UNISONO_CHECK(dtype == DType::f32);
  held.resize(pairs.count);
  cast(DType::f32, held.data(), pairs.dtype, pairs.values, pairs.count);
  return reinterpret_cast<const std::byte*>(held.data());
}

}  // namespace

std::optional<std::size_t> merge(const Operator& op, const Pairs& a, const Pairs& b,
                                 const PairsOut& out) {
  UNISONO_CHECK(a.base == 0 && b.base == 0);
  std::vector<float> of_a, of_b;
  const std::byte* left = values_as(out.dtype, a, of_a);
  const std::byte* right = values_as(out.dtype, b, of_b);
  auto* const to = static_cast<std::byte*>(out.values);
  if (out.wide != nullptr) {
    return merge_sides<std::uint64_t>(op, out.dtype, {a.wide, left, a.count},
                                      {b.wide, right, b.count}, {out.wide, to, out.capacity});
  }
  return merge_sides<std::uint32_t>(op, out.dtype, {a.narrow, left, a.count},
                                    {b.narrow, right, b.count}, {out.narrow, to, out.capacity});
}

}  // namespace unisono::kernels
