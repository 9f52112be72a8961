// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What one rank asks for, as the other ranks see it: metadata only, never the data.
// A value; encodes to the wire (docs/WIRE_FORMAT.md, "Request").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.hpp"
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
  std::string group;                    // "" = ungrouped
  std::uint32_t group_size = 0;         // how many tensors the group has
  std::vector<std::int64_t> splits;     // alltoall: rows for each member (always filled in)
  std::vector<Rank> members;            // add_process_set: sorted, unique

  std::int64_t elements() const { return element_count(shape).value_or(0); }
  std::size_t bytes() const { return static_cast<std::size_t>(elements()) * size_of(dtype); }
  friend bool operator==(const Request&, const Request&) = default;
};

void encode(const Request& request, ByteWriter& out);
Request decode_request(ByteReader& in);  // check in.ok() afterwards

}  // namespace unisono
