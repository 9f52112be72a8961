// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How ranks add up sparse vectors. An implementation is one file and one row in registry.cpp.
// Thread: one per rank; begin() and end() take turns, in the same order on every rank.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "unisono/unisono.hpp"

namespace unisono::opt {

// Indices are strictly ascending.
struct SparseView {
  std::span<const std::uint32_t> indices;
  std::span<const float> values;
};

// The sum over all ranks, in the same bits on each: pairs, or all elements where dense.
struct Total {
  bool dense = false;
  std::span<const std::uint32_t> indices;   // of the values; empty where dense
  std::span<const float> values;
};

class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual std::string_view name() const = 0;
  // Hands a vector over and returns; it stays as it is until end().
  virtual Status begin(SparseView mine) = 0;
  // Waits. What it returns is valid until the next begin().
  virtual Result<Total> end() = 0;
  // What this rank has handed over so far: of a dense vector all elements, of pairs 8 bytes each.
  virtual std::uint64_t bytes() const = 0;
};

}  // namespace unisono::opt
