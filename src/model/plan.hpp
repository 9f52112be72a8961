// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What travels together. A Bucket holds tensors that move in one collective; a Plan is the
// buckets of one negotiation round in the order they run. Values, identical on every member.
#pragma once

#include <cstdint>
#include <vector>

#include "model/response.hpp"

namespace unisono {

struct Bucket {
  std::uint64_t id = 0;                 // counts buckets of the set: names its messages
  SetId set = 0;
  Collective kind = Collective::allreduce;
  DType dtype = DType::f32;
  ReduceOp op = ReduceOp::sum;
  std::vector<Response> responses;      // in agreed order; more than one only for allreduce
  std::size_t bytes = 0;                // payload of all tensors
  std::uint64_t identity = 0;           // identity_of(): travels beside the data, compared by all
  std::uint64_t epoch = 0;              // plans of the set that ended before it. Local
};

// 48 bits that say which bucket this is: set, positions in the order, names and types. Members
// that mean the same bucket have the same identity, and two buckets of equal size have different
// ones, so that data that does not belong together is refused instead of summed. Never 0.
std::uint64_t identity_of(const Bucket& bucket);

struct Plan {
  std::vector<Bucket> buckets;
};

}  // namespace unisono
