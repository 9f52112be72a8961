// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/check.hpp"
#include "kernels/kernels.hpp"
#include "model/sparse/stream_bytes.hpp"
#include "stream/stream.hpp"

namespace unisono::stream {

namespace {

// So many elements are still kept sparse.
std::size_t most_kept_sparse(std::uint64_t length, std::uint64_t value_bytes, double multiplier) {
  std::uint64_t low = 0, high = length;     // kept_dense() changes once from false to true
  if (kept_dense(length, 0, value_bytes, multiplier)) return 0;
  while (low < high) {
    const std::uint64_t middle = low + (high - low + 1) / 2;
    if (kept_dense(length, middle, value_bytes, multiplier)) high = middle - 1;
    else low = middle;
  }
  return static_cast<std::size_t>(low);
}

Stream dense_of(const View& view, DType dtype, const kernels::Operator& op) {
  Stream out = Stream::copy_of(view, dtype);
  out.densify(op);
  return out;
}

}  // namespace

Stream merged(const kernels::Operator& op, const View& left, const View& right, DType dtype,
              std::uint64_t value_bytes, double dense_multiplier) {
  UNISONO_CHECK(left.length == right.length);
  const std::uint64_t length = left.length;
  const bool always_dense = kept_dense(length, 0, value_bytes, dense_multiplier);
  if (!left.dense && !right.dense && !always_dense) {
    Stream out(dtype, length);
    const std::size_t both = left.nnz() + right.nnz();
    const kernels::PairsOut room =
        out.make_room(std::min(both, most_kept_sparse(length, value_bytes, dense_multiplier)));
    const auto count = kernels::merge(op, left.pairs, right.pairs, room);
    if (count) {
      out.keep(*count);
      return out;
    }
  }
  Stream out = dense_of(left, dtype, op);
  const Stream other = dense_of(right, dtype, op);
  kernels::combine(dtype, op, out.values().data(), other.values().data(),
                   static_cast<std::size_t>(length));
  return out;
}

}  // namespace unisono::stream
