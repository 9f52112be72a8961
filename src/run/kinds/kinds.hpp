// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The kinds of run; make_run() chooses. Each is a file of the same name.
#pragma once

#include <memory>
#include <vector>

#include "encode/codec.hpp"
#include "run/bucket_run.hpp"
#include "run/select/selector.hpp"
#include "unisono/codec.hpp"

namespace unisono::run {

struct RunParts {
  Bucket bucket;
  std::vector<Pending> pendings;            // parallel to the bucket's tensors
  RunContext context;
  Choice choice = {};                       // of an allreduce over messages
};

std::unique_ptr<BucketRun> make_fused_run(RunParts parts, const encode::Codec& codec);
// Of tensors that travel as they are, when the algorithm is "direct".
std::unique_ptr<BucketRun> make_direct_run(RunParts parts, const encode::Codec& codec);
std::unique_ptr<BucketRun> make_adasum_run(RunParts parts, const encode::Codec& codec);
// An allreduce, Adasum too, whose members all share memory.
std::unique_ptr<BucketRun> make_local_run(RunParts parts, const encode::Codec& codec);
// An allreduce by a codec that is no cast, over messages.
std::unique_ptr<BucketRun> make_packet_run(RunParts parts, const CodecSpec& codec);
// Only the vote on a planned bucket.
std::unique_ptr<BucketRun> make_ballot_run(RunParts parts);
// Of indices and values.
std::unique_ptr<BucketRun> make_sparse_run(RunParts parts);
// Everything else: one tensor after the other.
std::unique_ptr<BucketRun> make_message_tensor_run(RunParts parts);
std::unique_ptr<BucketRun> make_local_tensor_run(RunParts parts);

}  // namespace unisono::run
