// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What travels together. A Bucket holds tensors that move in one collective; a Plan is the
// buckets of one negotiation round in the order they run. Values, identical on every member.
#pragma once

#include <cstdint>
#include <string_view>
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
  // Plans of the set that ended before it, and those with iterations that members chose a plan for
  // (run/gate). Local.
  std::uint64_t epoch = 0, stage = 0;
};

// 48 bits that say which bucket this is: set, positions in the order, names and types. Members
// that mean the same bucket have the same identity, and two buckets of equal size have different
// ones, so that data that does not belong together is refused instead of summed. Never 0.
std::uint64_t identity_of(const Bucket& bucket);
// The same of the vote before a planned bucket: says where in the order it is and nothing more,
// since members may hold different buckets there.
std::uint64_t ballot_identity(const Bucket& bucket);
// Whether members vote on a planned bucket before it moves: where they may have chosen different
// plans, and where the data cannot carry a vote.
bool needs_ballot(const Bucket& bucket);

// By which codec its tensors travel: what was planned for it, or what they ask for; "" = none.
std::string_view codec_of(const Bucket& bucket);
// Whether a codec sends every element by itself, and the bucket is reduced as it travels.
bool is_cast(std::string_view codec);
// Whether a tensor may travel by a codec that is none: its own, or one that a plan may choose.
bool may_pack(const Request& request);

struct Plan {
  std::vector<Bucket> buckets;
};

}  // namespace unisono
