// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// One agreed decision: run this (a tensor, or a whole group), or fail it, on every member.
// The sequence of Responses of a set is identical on all its members.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/data/bytes.hpp"
#include "model/iteration/bucket_method.hpp"
#include "model/request.hpp"
#include "unisono/status.hpp"

namespace unisono {

// How this member takes part in a response that was planned once instead of negotiated. The vote
// travels with the data, not with the response: all members see the strongest vote of any of them.
enum class PlanVote : std::uint8_t {
  run = 0,
  run_then_stop = 1,  // takes part; from the next response on all negotiate again
  run_then_replan = 2,  // the same, and the plan it belongs to is forgotten, to be made anew
  abort = 3,          // has nothing to contribute: no member's tensors are touched
};

struct Response {
  std::uint64_t sequence = 0;           // position in the set's order, from 0
  SetId set = 0;
  Status error;                         // not ok: every tensor listed fails with it
  // Canonical metadata (of the first member that submitted); more than one entry is a group.
  // A member that joined has no request of its own and takes part from this alone.
  std::vector<Request> tensors;
  // Of a failure: names that it is about as well, but that this member has asked for anew since, so
  // that nothing fails here. Tensors and these are together alike on all members. Local, never
  // encoded.
  std::vector<std::string> spared;
  // Parallel to tensors, one number per member. allgather, alltoall: first dimension.
  // add_process_set, prepare: the places it set aside. Otherwise empty.
  std::vector<std::vector<std::int64_t>> extents;
  // Indices of the members that joined; they contribute the neutral element.
  std::vector<std::uint32_t> absent;
  bool planned = false;                 // nobody was asked. Local, never encoded
  PlanVote vote = PlanVote::run;      // of this member, when planned. Local, never encoded
  // When planned: the plan whose iteration this member begins here, where there are several; else 0.
  // Members compare it before anything moves, and a difference counts as a vote for abort. Local,
  // never encoded.
  std::uint64_t choice = 0;
  // By order=program, which knows calls by position, not by name: a hash of the call, compared like
  // the choice when planned, else 1. Of other orders 0. Local, never encoded.
  std::uint64_t call = 0;
  // Planned, and its position is beyond the end of the plan: this member takes part only so that
  // others who came as far in that channel see the end there. Local, never encoded.
  bool closing = false;
  BucketMethod method;                  // when planned. Local, never encoded
  std::int64_t value = -1;              // join: last rank to join; add_process_set: the new id
};

void encode_response(const Response& response, ByteWriter& out);
Response decode_response(ByteReader& in);

}  // namespace unisono
