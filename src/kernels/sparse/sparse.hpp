// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Arithmetic on (index, value) pairs. Indices are strictly increasing; the caller has checked them
// against the segment. Values may have any alignment. sparse_reference.hpp is the scalar oracle.
// 16- and 8-bit floats are summed in float32 where the accumulators are float32.
// Thread: any; no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "kernels/sparse/operator.hpp"
#include "unisono/types.hpp"

namespace unisono::kernels {

// Elements of a segment that begins at base: element i of the pairs is element index[i] - base of
// the segment. One of narrow and wide is used.
struct Pairs {
  DType dtype = DType::f32;
  std::size_t count = 0;
  const std::uint32_t* narrow = nullptr;
  const std::uint64_t* wide = nullptr;
  const void* values = nullptr;
  std::uint64_t base = 0;
};

struct PairsOut {
  DType dtype = DType::f32;
  std::size_t capacity = 0;
  std::uint32_t* narrow = nullptr;
  std::uint64_t* wide = nullptr;
  void* values = nullptr;
};

// A dense segment and which of its elements have been written, one bit each in words of 64; those
// that have not hold rubbish. Bits beyond the length are 0.
struct Accumulators {
  DType dtype = DType::f32;
  std::size_t length = 0;
  void* values = nullptr;
  std::uint64_t* present = nullptr;         // presence_words(length)
};
constexpr std::size_t presence_words(std::size_t length) { return (length + 63) / 64; }

// The accumulator is the left operand; the first value of an element is stored as it is. The dtype
// of the pairs is that of the accumulators, or accumulators are its float32 partials.
void scatter_reduce(const Operator& op, const Accumulators& into, const Pairs& pairs);

std::size_t count_present(const Accumulators& segment);

// The elements that are there, in order; out has room for them and a dtype as above. Returns how
// many.
std::size_t compact(const Accumulators& segment, const PairsOut& out);

// a op b of every element of either; bases are 0 and all indices of one width. None when out has
// not room for the result; what is in out then is rubbish.
std::optional<std::size_t> merge(const Operator& op, const Pairs& a, const Pairs& b,
                                 const PairsOut& out);

// Whether the indices are strictly increasing and below the limit.
bool is_support(const Pairs& pairs, std::uint64_t limit);

}  // namespace unisono::kernels
