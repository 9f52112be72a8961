// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Some elements: which they are, and their values.
#include <algorithm>
#include <array>
#include <cstring>

#include "encode/packet/packet_codec.hpp"
#include "encode/packet/picks.hpp"

namespace unisono::encode {
namespace {

class SparseCodec final : public PacketCodec {
 public:
  using PacketCodec::PacketCodec;

  Status decode_add(std::span<const std::byte> packet, const Shape&,
                    std::span<float> accumulator) const override {
    const auto read = read_header(packet, spec_, accumulator.size(), 0);
    if (!read.ok()) return read.status();
    const PacketHeader& header = read.value();
    if (auto status = check_indices(header, packet); !status) return status;
    const std::byte* indices = packet.data() + kPacketHeaderBytes;
    const std::byte* packed = indices + header.index_bytes();
    std::array<float, kernels::kQuantiseBucket> values;
    for (std::size_t i = 0; i < header.picks; i += values.size()) {
      const ValuePart part{header.picks, i, std::min<std::size_t>(values.size(), header.picks - i)};
      read_values(header.form, part, packed, values.data());
      for (std::size_t j = 0; j < part.count; ++j) {
        accumulator[index_of(header, indices, i + j)] += values[j];
      }
    }
    return {};
  }

 private:
  static std::size_t index_of(const PacketHeader& header, const std::byte* indices, std::size_t i) {
    if (header.pick == CodecPick::bucket) {
      std::uint16_t place;
      std::memcpy(&place, indices + i * sizeof place, sizeof place);
      return i / header.k * header.bucket + place;
    }
    std::uint32_t index;
    std::memcpy(&index, indices + i * sizeof index, sizeof index);
    return index;
  }

  void encode_nothing(const Source& source, std::vector<std::byte>& packet) const override {
    begin(source, 0, 0, spec_.k, packet);
  }

  std::byte* begin(const Source& source, std::size_t picks, std::uint32_t step, std::uint32_t k,
                   std::vector<std::byte>& packet) const {
    const PacketHeader header{.pick = spec_.pick, .form = {spec_.form, spec_.bits},
                              .count = source.count, .picks = picks, .bucket = spec_.bucket, .k = k,
                              .step = step};
    packet.resize(header.bytes());
    write_header(header, packet.data());
    return packet.data() + kPacketHeaderBytes;
  }

  void encode_checked(const Source& source, TensorMemory& memory,
                      std::vector<std::byte>& packet) const override {
    Picks picks;
    pick_elements(spec_, source, memory, picks);
    const std::size_t count = picks.indices.size();
    std::byte* out = begin(source, count, memory.steps, picks.k, packet);
    if (spec_.pick == CodecPick::bucket) {
      for (std::size_t i = 0; i < count; ++i, out += sizeof(std::uint16_t)) {
        const auto place = static_cast<std::uint16_t>(picks.indices[i] % spec_.bucket);
        std::memcpy(out, &place, sizeof place);
      }
    } else if (count != 0) {
      std::memcpy(out, picks.indices.data(), count * sizeof(std::uint32_t));
      out += count * sizeof(std::uint32_t);
    }
    if (!picks.packed.empty()) std::memcpy(out, picks.packed.data(), picks.packed.size());
  }
};

}  // namespace

std::unique_ptr<PacketCodec> make_sparse_packet_codec(const CodecSpec& spec) {
  return std::make_unique<SparseCodec>(spec);
}

}  // namespace unisono::encode
