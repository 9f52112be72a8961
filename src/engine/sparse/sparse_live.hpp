// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Test support: what ranks bring to sparse collectives, and what comes of it when it is added up by
// hand. Values are small whole numbers, which every dtype holds exactly.
#pragma once

#include <cstring>
#include <map>
#include <optional>

#include "base/data/rng.hpp"
#include "base/data/text.hpp"
#include "engine/testing/thread_ranks.hpp"
#include "kernels/kernels.hpp"

namespace unisono::engine {

using Elements = std::map<std::int64_t, float>;

enum class Support { few, identical, disjoint, none, one, unequal, many };

inline Elements elements_of(Support support, std::uint64_t seed, int rank, int ranks,
                            std::int64_t length) {
  Rng rng(seed * 131 + (support == Support::identical ? 0 : static_cast<std::uint64_t>(rank) + 1));
  std::size_t wanted = static_cast<std::size_t>(length) / 16;
  if (support == Support::none) wanted = 0;
  if (support == Support::one) wanted = 1;
  if (support == Support::many) wanted = static_cast<std::size_t>(length) * 2 / 3;
  if (support == Support::unequal) wanted *= rank % 3 == 0 ? 0 : static_cast<unsigned>(rank);
  Elements out;
  for (std::size_t i = 0; i < wanted; ++i) {
    auto index = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(length)));
    if (support == Support::disjoint) index = index / ranks * ranks + rank;
    if (index < length) out[index] = 0;
  }
  Rng values(seed * 17 + static_cast<std::uint64_t>(rank));
  for (auto& [index, value] : out) value = static_cast<float>(values.below(3));
  return out;
}

inline float combined(ReduceOp op, float a, float b) {
  switch (op) {
    case ReduceOp::min: case ReduceOp::logical_and: return std::min(a, b);
    case ReduceOp::max: case ReduceOp::logical_or: return std::max(a, b);
    case ReduceOp::product: return a * b;
    default: return a + b;
  }
}

// The elements that any of the ranks has.
inline Elements reduced(ReduceOp op, Support support, std::uint64_t seed, int ranks,
                        std::int64_t length) {
  Elements out;
  for (int rank = 0; rank < ranks; ++rank) {
    for (const auto& [index, value] : elements_of(support, seed, rank, ranks, length)) {
      const auto [at, fresh] = out.emplace(index, value);
      if (!fresh) at->second = combined(op, at->second, value);
    }
  }
  return out;
}

struct Brought {
  std::vector<std::int64_t> indices;
  std::vector<std::byte> values;
  SparseOperand operand;
};

inline Brought brought(const Elements& elements, DType dtype, std::int64_t length) {
  Brought out;
  std::vector<float> values;
  for (const auto& [index, value] : elements) {
    out.indices.push_back(index);
    values.push_back(value);
  }
  out.values.resize(values.size() * size_of(dtype));
  kernels::cast(dtype, out.values.data(), DType::f32, values.data(), values.size());
  out.operand = {.dtype = dtype, .index_dtype = DType::i64, .count = values.size(),
                 .indices = out.indices.data(), .values = out.values.data(), .length = length};
  return out;
}

// All elements of a result, as floats; absent ones of a dense result are those that are neutral.
inline Elements elements_of(const SparseResult& result) {
  std::vector<float> values(result.count);
  kernels::cast(DType::f32, values.data(), result.dtype, result.values.data(), result.count);
  Elements out;
  for (std::size_t i = 0; i < result.count; ++i) out[result.index(i)] = values[i];
  return out;
}

// Whether the result has what was expected, and nothing but neutral elements beside.
inline testing::AssertionResult matches(const SparseResult& result, const Elements& expected,
                                        ReduceOp op) {
  const Elements got = elements_of(result);
  for (const auto& [index, value] : expected) {
    const auto at = got.find(index);
    if (at == got.end() || at->second != value) {
      return testing::AssertionFailure()
             << "element " << index << " is " << (at == got.end() ? -1.0f : at->second) << ", not "
             << value << " (" << result.algorithm << ")";
    }
  }
  if (!result.dense && got.size() != expected.size()) {
    return testing::AssertionFailure() << got.size() << " elements, not " << expected.size();
  }
  const SparseResult pairs = result.as_pairs();
  if (pairs.dense || pairs.count > expected.size()) {
    return testing::AssertionFailure() << pairs.count << " pairs of " << expected.size();
  }
  float neutral = 0;
  std::vector<std::byte> raw(size_of(result.dtype));
  kernels::fill_neutral(result.dtype, op == ReduceOp::average ? ReduceOp::sum : op, raw.data(), 1);
  kernels::cast(DType::f32, &neutral, result.dtype, raw.data(), 1);
  for (const auto& [index, value] : got) {
    if (!expected.contains(index) && value != neutral) {
      return testing::AssertionFailure() << "absent element " << index << " is " << value;
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace unisono::engine
