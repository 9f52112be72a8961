// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "encode/packet/packet_codec.hpp"

#include "base/data/hash.hpp"
#include "base/data/text.hpp"

namespace unisono::encode {

Status PacketCodec::encode(const Source& source, TensorMemory& memory,
                           std::vector<std::byte>& packet) const {
  if (source.count > UINT32_MAX) {
    return Status(Code::invalid_argument,
                  cat("'", source.tensor, "' has ", source.count, " elements, and codec '",
                      spec_.text(), "' takes up to 4294967295; send it as it is, or in parts"));
  }
  if (source.elements == nullptr && source.count != 0) {
    encode_nothing(source, packet);
    return {};
  }
  if (!all_finite(source)) {
    return Status(Code::invalid_argument,
                  cat("'", source.tensor, "' holds NaN or an infinity, which codec '", spec_.text(),
                      "' would keep forever; skip the step"));
  }
  encode_checked(source, memory, packet);
  ++memory.steps;
  return {};
}

std::unique_ptr<PacketCodec> make_packet_codec(const CodecSpec& spec) {
  if (spec.form == CodecForm::powersgd) return make_low_rank_packet_codec(spec);
  return spec.pick == CodecPick::all ? make_dense_packet_codec(spec)
                                     : make_sparse_packet_codec(spec);
}

kernels::QuantiseKey quantise_key(const Source& source, const TensorMemory& memory) {
  const std::uint64_t hash = hash_text(source.tensor);
  return {.seed = static_cast<std::uint32_t>(hash >> 32),
          .tensor = static_cast<std::uint32_t>(hash),
          .owner = source.owner,
          .step = memory.steps};
}

void make_residual(TensorMemory& memory, std::size_t count) {
  if (memory.residual.size() != count) memory.residual.assign(count, 0.0F);
}

}  // namespace unisono::encode
