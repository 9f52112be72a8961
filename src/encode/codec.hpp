// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How a tensor travels: in which form its elements pass through a bucket's buffer, and how they come
// out of it again. The buffer is reduced as it is, in the wire dtype, by whatever moves the bucket.
//
// A codec that needs to remember something between steps remembers it by the tensor's name; the ones
// whose wire form is not element by element are given whole tensors, the others any part of one.
// Thread: any, also several at once on parts of one tensor. Codecs live as long as the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "model/options/registry.hpp"
#include "unisono/types.hpp"

namespace unisono::encode {

// Some elements of a tensor on their way into a bucket. Null elements are those of a rank that has
// joined: the operator's neutral element travels.
struct EncodePart {
  std::string_view tensor;
  DType dtype = DType::f32;
  ReduceOp op = ReduceOp::sum;
  double prescale = 1.0;
  const void* elements = nullptr;
  std::size_t count = 0;
  std::byte* wire = nullptr;                // wire_bytes(dtype, count) of them
};

// The same on the way out, reduced. elements may be the very place that was encoded from.
struct DecodePart {
  std::string_view tensor;
  DType dtype = DType::f32;
  std::int64_t divisor = 1;                 // average: how many contributions count
  double postscale = 1.0;
  const std::byte* wire = nullptr;
  std::size_t count = 0;
  void* elements = nullptr;
};

class Codec {
 public:
  virtual ~Codec() = default;
  virtual std::string_view name() const = 0;
  // In what the elements of a tensor travel and are reduced. The tensor's own dtype means that the
  // codec leaves such tensors alone.
  virtual DType wire_dtype(DType dtype) const = 0;
  // The most that so many elements take on the wire.
  virtual std::size_t wire_bytes(DType dtype, std::size_t count) const {
    return count * size_of(wire_dtype(dtype));
  }
  virtual void encode(const EncodePart& part) const = 0;
  virtual void decode(const DecodePart& part) const = 0;
};

// All there are, "none" first.
using CodecRow = RegistryRow<const Codec& (*)()>;
std::span<const CodecRow> codec_table();
// By its name; "" is "none". Null when there is no such codec.
const Codec* find_codec(std::string_view name);

}  // namespace unisono::encode
