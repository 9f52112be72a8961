// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "encode/pack.hpp"

#include "base/check.hpp"
#include "kernels/kernels.hpp"

namespace unisono {

void pack(DType dtype, ReduceOp op, std::span<const PackItem> items, std::span<std::byte> buffer) {
  for (const PackItem& item : items) {
    UNISONO_CHECK(item.offset + item.count * size_of(dtype) <= buffer.size());
    std::byte* place = buffer.data() + item.offset;
    if (item.source == nullptr) {
      kernels::fill_neutral(dtype, op, place, item.count);
    } else {
      kernels::scale(dtype, place, item.source, item.prescale, item.count);
    }
  }
}

}  // namespace unisono
