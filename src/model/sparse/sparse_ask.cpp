// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "model/sparse/sparse_ask.hpp"

namespace unisono {
namespace {

constexpr std::uint8_t kAllowLoss = 1, kSameIndices = 2, kRefuseOverlap = 4;

}  // namespace

void encode_sparse_ask(const SparseAsk& ask, ByteWriter& out) {
  out.put(ask.nnz);
  out.put(ask.nnz_sum);
  out.put(ask.expected);
  out.put(ask.top_k);
  out.put(static_cast<std::uint8_t>((ask.allow_loss ? kAllowLoss : 0) |
                                    (ask.same_indices ? kSameIndices : 0) |
                                    (ask.refuse_overlap ? kRefuseOverlap : 0)));
  out.put(ask.gather_bits);
  out.put_text(ask.algorithm);
  out.put_text(ask.user_operator);
}

SparseAsk decode_sparse_ask(ByteReader& in) {
  SparseAsk ask;
  ask.nnz = in.get<std::uint64_t>();
  ask.nnz_sum = in.get<std::uint64_t>();
  ask.expected = in.get<std::uint64_t>();
  ask.top_k = in.get<std::uint64_t>();
  const auto flags = in.get<std::uint8_t>();
  ask.allow_loss = (flags & kAllowLoss) != 0;
  ask.same_indices = (flags & kSameIndices) != 0;
  ask.refuse_overlap = (flags & kRefuseOverlap) != 0;
  if (flags > (kAllowLoss | kSameIndices | kRefuseOverlap)) in.fail();
  ask.gather_bits = in.get<std::uint8_t>();
  if (ask.gather_bits != 0 && ask.gather_bits != 2 && ask.gather_bits != 4 &&
      ask.gather_bits != 8) {
    in.fail();
  }
  ask.algorithm = in.get_text();
  ask.user_operator = in.get_text();
  return ask;
}

}  // namespace unisono
