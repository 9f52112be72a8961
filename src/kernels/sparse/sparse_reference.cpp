// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/sparse/sparse_reference.hpp"

#include <array>
#include <cstring>

#include "kernels/kernels_reference.hpp"

namespace unisono::kernels::reference {

namespace {

// Room for one element of any dtype.
struct alignas(8) AnyElement {
  std::array<std::byte, 8> bytes{};
};

std::uint64_t index_at(const Pairs& pairs, std::size_t i) {
  return (pairs.narrow != nullptr ? pairs.narrow[i] : pairs.wide[i]) - pairs.base;
}

AnyElement load_as(DType dtype, DType stored, const void* values, std::size_t i) {
  AnyElement in, out;
  std::memcpy(in.bytes.data(), static_cast<const std::byte*>(values) + i * size_of(stored),
              size_of(stored));
  reference::cast(dtype, out.bytes.data(), stored, in.bytes.data(), 0, 1);
  return out;
}

AnyElement applied(const Operator& op, DType dtype, AnyElement a, const AnyElement& b) {
  if (op.user != nullptr) {
    op.user->combine(a.bytes.data(), b.bytes.data(), 1);
    return a;
  }
  const void* inputs[] = {a.bytes.data(), b.bytes.data()};
  AnyElement out;
  reference::reduce_many(dtype, op.op, out.bytes.data(), inputs, 0, 1);
  return out;
}

void put(const PairsOut& out, std::size_t at, std::uint64_t index, const AnyElement& value) {
  if (out.narrow != nullptr) out.narrow[at] = static_cast<std::uint32_t>(index);
  else out.wide[at] = index;
  const std::size_t width = size_of(out.dtype);
  std::memcpy(static_cast<std::byte*>(out.values) + at * width, value.bytes.data(), width);
}

}  // namespace

void scatter_reduce(const Operator& op, const Accumulators& into, const Pairs& pairs) {
  const std::size_t width = size_of(into.dtype);
  for (std::size_t i = 0; i < pairs.count; ++i) {
    const std::uint64_t at = index_at(pairs, i);
    AnyElement value = load_as(into.dtype, pairs.dtype, pairs.values, i);
    const std::uint64_t bit = std::uint64_t{1} << (at % 64);
    if ((into.present[at / 64] & bit) != 0) {
      value = applied(op, into.dtype, load_as(into.dtype, into.dtype, into.values, at), value);
    }
    into.present[at / 64] |= bit;
    std::memcpy(static_cast<std::byte*>(into.values) + at * width, value.bytes.data(), width);
  }
}

std::size_t count_present(const Accumulators& segment) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < segment.length; ++i) {
    count += (segment.present[i / 64] >> (i % 64)) & 1;
  }
  return count;
}

std::size_t compact(const Accumulators& segment, const PairsOut& out) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < segment.length; ++i) {
    if (((segment.present[i / 64] >> (i % 64)) & 1) == 0) continue;
    put(out, count++, i, load_as(out.dtype, segment.dtype, segment.values, i));
  }
  return count;
}

std::optional<std::size_t> merge(const Operator& op, const Pairs& a, const Pairs& b,
                                 const PairsOut& out) {
  std::size_t i = 0, j = 0, count = 0;
  while (i < a.count || j < b.count) {
    if (count == out.capacity) return std::nullopt;
    const std::uint64_t left = i < a.count ? index_at(a, i) : UINT64_MAX;
    const std::uint64_t right = j < b.count ? index_at(b, j) : UINT64_MAX;
    AnyElement value;
    if (left <= right) value = load_as(out.dtype, a.dtype, a.values, i++);
    if (right <= left) {
      const AnyElement other = load_as(out.dtype, b.dtype, b.values, j++);
      value = left == right ? applied(op, out.dtype, value, other) : other;
    }
    put(out, count++, left <= right ? left : right, value);
  }
  return count;
}

bool is_support(const Pairs& pairs, std::uint64_t limit) {
  for (std::size_t i = 0; i < pairs.count; ++i) {
    const std::uint64_t index = pairs.narrow != nullptr ? pairs.narrow[i] : pairs.wide[i];
    if (index < pairs.base || index - pairs.base >= limit) return false;
    if (i > 0 && index_at(pairs, i) <= index_at(pairs, i - 1)) return false;
  }
  return true;
}

}  // namespace unisono::kernels::reference
