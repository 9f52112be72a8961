// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How a tensor travels: in which form its elements pass through a bucket's buffer, and how they
// come out of it again. Whatever moves the bucket reduces the buffer as it is, in the wire dtype.
//
// A codec that must remember something between steps remembers it by the tensor's name. A codec
// whose wire form is not element by element gets whole tensors, the others get any part of one.
// Thread: any, also several at once on parts of one tensor. Codecs live as long as the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "model/options/registry.hpp"
#include "unisono/types.hpp"

namespace unisono::encode {

// Some elements of a tensor on their way into a bucket. elements is null on a rank that has joined:
// the operator's neutral element travels instead.
struct EncodePart {
  std::string_view tensor;
  DType dtype = DType::f32;
  ReduceOp op = ReduceOp::sum;
  double prescale = 1.0;
  const void* elements = nullptr;
  std::size_t count = 0;
  std::byte* wire = nullptr;                // wire_bytes(dtype, count) of them
};

// Some reduced elements on their way out. elements may be the place they were encoded from.
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
  // The dtype in which the elements of a tensor travel and are reduced. The tensor's own dtype
  // means that the codec leaves such tensors alone.
  virtual DType wire_dtype(DType dtype) const = 0;
  // The max bytes that so many elements take on the wire.
  virtual std::size_t wire_bytes(DType dtype, std::size_t count) const {
    return count * size_of(wire_dtype(dtype));
  }
  virtual void encode(const EncodePart& part) const = 0;
  virtual void decode(const DecodePart& part) const = 0;
};

// All codecs, "none" first.
using CodecRow = RegistryRow<const Codec& (*)()>;
std::span<const CodecRow> codec_table();
// Finds a codec by its name; "" is "none". Null when there is no such codec.
const Codec* find_codec(std::string_view name);

}  // namespace unisono::encode
