// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What one rank asks for, as the other ranks see it: metadata only, never the data.
// A value; encodes to the wire (docs/WIRE_FORMAT.md, "Request").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/data/bytes.hpp"
#include "model/collective_traits.hpp"
#include "model/sparse/sparse_ask.hpp"
#include "unisono/types.hpp"

namespace unisono {

using SetId = std::uint32_t;  // a process set; 0 is the world

struct Request {
  std::string name;
  Collective kind = Collective::allreduce;
  DType dtype = DType::f32;
  ReduceOp op = ReduceOp::sum;
  std::uint8_t device = 0;              // 0 = CPU; the kind of device, not its number
  Shape shape;
  double prescale = 1.0;
  double postscale = 1.0;
  Rank root = 0;                        // broadcast: global rank
  SetId set = 0;
  std::int32_t priority = 0;
  std::string codec;
  // Codecs that a plan may give it where it asks for none: "fp16,bf16"; "" = none.
  std::string plan_codecs;
  std::uint32_t team = 0;               // whose channel it travels through, from 1; 0 = any
  std::string group;                    // "" = ungrouped
  std::uint32_t group_size = 0;         // how many tensors the group has
  // alltoall: the rows are not divided equally. The division goes with the data, where each
  // member learns only what concerns it; for n members the whole would be n x n numbers.
  bool uneven = false;
  // add_process_set, prepare: which places on its board the sender has set aside, one per byte and
  // counted from 1; 0 = none.
  std::uint64_t board_slots = 0;
  std::vector<Rank> members;            // add_process_set: sorted, unique
  SparseAsk sparse;                     // of a sparse kind

  std::int64_t elements() const { return element_count(shape).value_or(0); }
  // Of a sparse kind: about what the member with the most elements brings.
  std::size_t bytes() const {
    if (traits_of(kind).sparse) {
      return static_cast<std::size_t>(sparse.bytes(elements(), size_of(dtype)));
    }
    return static_cast<std::size_t>(elements()) * size_of(dtype);
  }
  friend bool operator==(const Request&, const Request&) = default;
};

void encode_request(const Request& request, ByteWriter& out);
Request decode_request(ByteReader& in);  // check in.ok() afterwards

}  // namespace unisono
