// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Fuses the tensors of a bucket into one buffer, scaling on the way. The pass-through codec:
// what leaves here are the elements themselves.
// Thread: the one that drives the engine. Owns nothing.
#pragma once

#include <cstddef>
#include <span>

#include "unisono/types.hpp"

namespace unisono {

// A tensor's place in a bucket's buffer. A null source gives the operator's neutral element: the
// contribution of a rank that has joined.
struct PackItem {
  const void* source = nullptr;
  std::size_t offset = 0;
  std::size_t count = 0;
  double prescale = 1.0;
};

void pack(DType dtype, ReduceOp op, std::span<const PackItem> items, std::span<std::byte> buffer);

}  // namespace unisono
