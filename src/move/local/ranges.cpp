// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "move/local/machine.hpp"

namespace unisono::move {

void gather_range(const LocalReduction& work, std::size_t begin, std::size_t end, std::byte* out) {
  const std::size_t element = size_of(work.dtype);
  for_range(work.items, begin, end,
            [&](const LocalItem& item, std::size_t from, std::size_t bytes, std::size_t place) {
              std::byte* to = out + (place - begin);
              if (item.source == nullptr) {
                kernels::fill_neutral(work.dtype, work.op, to, bytes / element);
              } else if (work.translation) {
                work.translation.load(item, from, bytes, to);
              } else if (work.prescale == 1.0) {
                std::memcpy(to, item.source + from, bytes);
              } else {
                kernels::scale(work.dtype, to, item.source + from, work.prescale, bytes / element);
              }
            });
}

void scatter_range(const LocalReduction& work, std::size_t begin, std::size_t end,
                   const std::byte* in) {
  for_range(work.items, begin, end,
            [&](const LocalItem& item, std::size_t from, std::size_t bytes, std::size_t place) {
              if (item.target == nullptr) return;
              if (work.translation) {
                work.translation.store(item, from, bytes, in + (place - begin));
              } else {
                std::memcpy(item.target + from, in + (place - begin), bytes);
              }
            });
}

bool needs_finish(const LocalReduction& work) {
  if (work.translation) return false;
  return work.postscale != 1.0 || (work.op == ReduceOp::average && work.divisor > 1);
}

void finish_range(const LocalReduction& work, std::byte* out, const std::byte* in,
                  std::size_t bytes) {
  const std::int64_t divisor = work.op == ReduceOp::average ? work.divisor : 1;
  kernels::finish(work.dtype, divisor, work.postscale, out, in, bytes / size_of(work.dtype));
}

}  // namespace unisono::move
