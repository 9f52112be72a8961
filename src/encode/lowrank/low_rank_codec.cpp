// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The two factors of a matrix in a packet; vectors, and matrices that are hardly larger than their
// factors, as they are.
#include <algorithm>
#include <cstring>

#include "base/data/hash.hpp"
#include "encode/lowrank/lowrank.hpp"
#include "encode/packet/packet_codec.hpp"
#include "kernels/kernels.hpp"

namespace unisono::encode {
namespace {

class LowRankCodec final : public PacketCodec {
 public:
  using PacketCodec::PacketCodec;

  Status decode_add(std::span<const std::byte> packet, const Shape& shape,
                    std::span<float> accumulator) const override {
    const Matrix matrix = matrix_of(shape);
    const bool thin = has_low_rank(matrix, spec_.rank);
    const auto read = read_header(packet, spec_, accumulator.size(),
                                  static_cast<std::uint32_t>(matrix.rows));
    if (!read.ok()) return read.status();
    if (thin != (read.value().form.form == CodecForm::powersgd)) {
      return Status(Code::corrupted, "an encoded tensor that arrived is a matrix of another shape; "
                                     "run the same program everywhere");
    }
    const std::byte* payload = packet.data() + kPacketHeaderBytes;
    if (!thin) {
      kernels::reduce(DType::f32, ReduceOp::sum, accumulator.data(), payload, accumulator.size());
      return {};
    }
    std::vector<float> factors(read.value().payload_bytes() / sizeof(float));
    std::memcpy(factors.data(), payload, factors.size() * sizeof(float));
    add_product(matrix, spec_.rank, factors.data(), factors.data() + matrix.left(spec_.rank), 1.0F,
                accumulator.data());
    return {};
  }

 private:
  std::byte* begin(const Source& source, Matrix matrix, std::uint32_t step,
                   std::vector<std::byte>& packet) const {
    const bool thin = has_low_rank(matrix, spec_.rank);
    const PacketHeader header{
        .pick = CodecPick::all,
        .form = {thin ? CodecForm::powersgd : CodecForm::none, 0},
        .count = source.count,
        .picks = source.count,
        .bucket = thin ? static_cast<std::uint32_t>(matrix.rows) : 0,
        .k = thin ? spec_.rank : 0,
        .step = step};
    packet.resize(header.bytes());
    write_header(header, packet.data());
    return packet.data() + kPacketHeaderBytes;
  }

  void encode_nothing(const Source& source, std::vector<std::byte>& packet) const override {
    std::byte* payload = begin(source, matrix_of(source.shape), 0, packet);
    std::fill(payload, packet.data() + packet.size(), std::byte{0});
  }

  void encode_checked(const Source& source, TensorMemory& memory,
                      std::vector<std::byte>& packet) const override {
    const Matrix matrix = matrix_of(source.shape);
    const std::size_t rank = spec_.rank;
    std::byte* payload = begin(source, matrix, memory.steps, packet);
    std::vector<float> scratch, sum;
    const float* m = as_float32(source, clipped_scale(source, spec_.clip), scratch);
    if (!has_low_rank(matrix, rank)) {
      if (source.count != 0) std::memcpy(payload, m, source.count * sizeof(float));
      return;
    }
    if (spec_.feedback) {
      make_residual(memory, source.count);
      kernels::reduce(DType::f32, ReduceOp::sum, memory.residual.data(), m, source.count);
      m = memory.residual.data();
    }
    std::vector<float> left(matrix.left(rank));
    if (memory.factor.size() != matrix.right(rank)) {
      memory.factor.resize(matrix.right(rank));
      first_factor(hash_text(source.tensor), memory.factor.size(), memory.factor.data());
    } else {
      renew_factor(hash_text(source.tensor), matrix.columns, rank, memory.factor.data());
    }
    float* right = memory.factor.data();
    left_factor(matrix, rank, m, right, left.data());
    orthonormalise(matrix.rows, rank, left.data());
    right_factor(matrix, rank, m, left.data(), right);
    std::memcpy(payload, left.data(), left.size() * sizeof(float));
    std::memcpy(payload + left.size() * sizeof(float), right, matrix.right(rank) * sizeof(float));
    if (spec_.feedback) {
      add_product(matrix, rank, left.data(), right, -1.0F, memory.residual.data());
    }
  }
};

}  // namespace

std::unique_ptr<PacketCodec> make_low_rank_packet_codec(const CodecSpec& spec) {
  return std::make_unique<LowRankCodec>(spec);
}

}  // namespace unisono::encode
