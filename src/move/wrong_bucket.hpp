// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What a rank says when it finds another one at a different bucket (Bucket::identity). Both find
// out, and each knows only the names of its own bucket.
#pragma once

#include "model/members.hpp"
#include "model/plan.hpp"
#include "unisono/status.hpp"

namespace unisono::move {

// member is the index of the one that differs. Nobody in particular is blamed: either may be right.
Status wrong_bucket(const Bucket& mine, const Members& members, int member);

}  // namespace unisono::move
