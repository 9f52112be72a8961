// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Whether what the members asked for under one name can run together. Pure.
// The first sentence of a refusal is what Horovod's users match on; then comes what every rank
// sent; then the fix where there is an obvious one.
#pragma once

#include <span>
#include <string>

#include "model/request.hpp"
#include "unisono/status.hpp"

namespace unisono::order {

struct Submission {
  Rank rank;
  const Request* request;
};

// `submissions` in ascending order of rank, at least one; `members` are all ranks of the set.
Status validate(std::span<const Submission> submissions, std::span<const Rank> members);
// Whether even equal requests of all members need validate(), for what one can say alone.
bool needs_own_check(Collective kind);

std::string upper_name(Collective kind);  // "ALLREDUCE"

}  // namespace unisono::order
