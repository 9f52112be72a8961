// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/packets/exchange.hpp"

#include <cmath>

#include "encode/lowrank/lowrank.hpp"
#include "encode/packet/picks.hpp"
#include "kernels/pick/pick.hpp"

namespace unisono::run {

std::unique_ptr<Exchange> make_exchange(ExchangeWork work) {
  if (work.codec.form == CodecForm::powersgd) return make_low_rank_exchange(std::move(work));
  if (work.codec.pick != CodecPick::all) return make_sparse_exchange(std::move(work));
  return work.algorithm == "ring" ? make_ring_exchange(std::move(work))
                                  : make_dense_exchange(std::move(work));
}

std::size_t packed_size(const CodecSpec& codec, const Shape& shape) {
  const auto count = static_cast<std::size_t>(element_count(shape).value_or(0));
  if (codec.form == CodecForm::powersgd) {
    const encode::Matrix matrix = encode::matrix_of(shape);
    return sizeof(float) * (encode::has_low_rank(matrix, codec.rank)
                                ? (matrix.rows + matrix.columns) * codec.rank
                                : count);
  }
  const encode::ValueForm form{codec.form, codec.bits};
  switch (codec.pick) {
    case CodecPick::bucket: {
      const std::size_t picks = kernels::bucket_picks(count, codec.bucket, codec.k);
      return picks * sizeof(std::uint16_t) + form.bytes(picks);
    }
    case CodecPick::global: {
      const std::size_t picks = encode::picks_at(codec, count, codec.warmup);
      return picks * sizeof(std::uint32_t) + form.bytes(picks);
    }
    default: return form.bytes(count);      // of a threshold: all may pass it
  }
}

}  // namespace unisono::run
