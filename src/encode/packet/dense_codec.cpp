// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// All elements in fewer bits. A piece that stays in the cache is accumulated, packed, read back and
// taken off what is kept before the next one is touched.
#include <algorithm>

#include "encode/packet/packet_codec.hpp"
#include "kernels/kernels.hpp"

namespace unisono::encode {
namespace {

constexpr std::size_t kDensePiece = 4 * kernels::kQuantiseBucket;

class DenseCodec final : public PacketCodec {
 public:
  using PacketCodec::PacketCodec;

  Status decode_add(std::span<const std::byte> packet, const Shape&,
                    std::span<float> accumulator) const override {
    const auto header = read_header(packet, spec_, accumulator.size(), 0);
    if (!header.ok()) return header.status();
    add_values(form(), {accumulator.size(), 0, accumulator.size()},
               packet.data() + kPacketHeaderBytes, accumulator.data());
    return {};
  }

 private:
  ValueForm form() const { return {spec_.form, spec_.bits}; }

  std::byte* begin(const Source& source, std::uint32_t step, std::vector<std::byte>& packet) const {
    const PacketHeader header{.pick = CodecPick::all, .form = form(), .count = source.count,
                              .picks = source.count, .bucket = 0, .k = 0, .step = step};
    packet.resize(header.bytes());
    write_header(header, packet.data());
    return packet.data() + kPacketHeaderBytes;
  }

  void encode_nothing(const Source& source, std::vector<std::byte>& packet) const override {
    std::byte* payload = begin(source, 0, packet);
    std::fill(payload, packet.data() + packet.size(), std::byte{0});
  }

  void encode_checked(const Source& source, TensorMemory& memory,
                      std::vector<std::byte>& packet) const override {
    std::byte* payload = begin(source, memory.steps, packet);
    const kernels::QuantiseKey key = quantise_key(source, memory);
    std::vector<float> scratch;
    const float* values = as_float32(source, clipped_scale(source, spec_.clip), scratch);
    if (!spec_.feedback) {
      return write_values(form(), key, 0, {source.count, 0, source.count}, values, payload);
    }
    make_residual(memory, source.count);
    float sent[kDensePiece];
    for (std::size_t i = 0; i < source.count; i += kDensePiece) {
      const ValuePart part{source.count, i, std::min(kDensePiece, source.count - i)};
      float* kept = memory.residual.data() + i;
      kernels::reduce(DType::f32, ReduceOp::sum, kept,
                      reinterpret_cast<const std::byte*>(values) + i * sizeof(float), part.count);
      write_values(form(), key, 0, part, kept, payload);
      read_values(form(), part, payload, sent);
      for (std::size_t j = 0; j < part.count; ++j) kept[j] -= sent[j];
      // Two numbers whose sum is none: everybody sees it now, and it is not kept.
      if (!kernels::all_finite(kept, part.count)) std::fill(kept, kept + part.count, 0.0F);
    }
  }
};

}  // namespace

std::unique_ptr<PacketCodec> make_dense_packet_codec(const CodecSpec& spec) {
  return std::make_unique<DenseCodec>(spec);
}

}  // namespace unisono::encode
