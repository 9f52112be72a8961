// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A codec that sends a tensor as a packet of its own: fewer bits of all elements, some elements, or
// two thin factors. Computes in float32 whatever the dtype of the tensor.
//
// The same bits whatever the threads and the machine: random numbers hang on the tensor's name, the
// owner, the step and the index of the element.
// Thread: any; what it keeps from step to step is in the memory it is given, one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "encode/feedback/feedback.hpp"
#include "encode/packet/packet.hpp"
#include "encode/packet/source.hpp"
#include "unisono/codec.hpp"

namespace unisono::encode {

class PacketCodec {
 public:
  explicit PacketCodec(const CodecSpec& spec) : spec_(spec) {}
  virtual ~PacketCodec() = default;
  const CodecSpec& spec() const { return spec_; }

  // Takes what was kept, adds the source, sends what the codec sends, and keeps the rest, in one
  // pass. A source with NaN or an infinity is refused before anything of the memory is touched.
  Status encode(const Source& source, TensorMemory& memory, std::vector<std::byte>& packet) const;
  // accumulator += what the packet says. A packet that does not belong here is refused before
  // anything is added.
  virtual Status decode_add(std::span<const std::byte> packet, const Shape& shape,
                            std::span<float> accumulator) const = 0;

 protected:
  // The source has elements and all of them are numbers.
  virtual void encode_checked(const Source& source, TensorMemory& memory,
                              std::vector<std::byte>& packet) const = 0;
  virtual void encode_nothing(const Source& source, std::vector<std::byte>& packet) const = 0;

  const CodecSpec spec_;
};

// Of any spec that check_codec() allows.
std::unique_ptr<PacketCodec> make_packet_codec(const CodecSpec& spec);

// One for each way of picking; make_packet_codec() chooses.
std::unique_ptr<PacketCodec> make_dense_packet_codec(const CodecSpec& spec);
std::unique_ptr<PacketCodec> make_sparse_packet_codec(const CodecSpec& spec);
std::unique_ptr<PacketCodec> make_low_rank_packet_codec(const CodecSpec& spec);

// What random numbers of a tensor hang on.
kernels::QuantiseKey quantise_key(const Source& source, const TensorMemory& memory);
// Room for what was not sent, null at first or where the tensor has another length now.
void make_residual(TensorMemory& memory, std::size_t count);

}  // namespace unisono::encode
