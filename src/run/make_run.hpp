// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Which kind of run a bucket takes. All members choose alike, from what all of them know.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "run/bucket_run.hpp"

namespace unisono::run {

// pendings is parallel to the bucket's tensors; one without ticket is of a rank that has joined.
// start() reports what stands in the way, such as a codec that this engine does not have.
// A planned bucket that needs one first gets a ballot (is_ballot()); once that has ended with
// another vote than abort, call it again with the vote and what the ballot gives up.
std::unique_ptr<BucketRun> make_run(Bucket bucket, std::vector<Pending> pendings,
                                    RunContext context, std::optional<PlanVote> settled = {});

}  // namespace unisono::run
