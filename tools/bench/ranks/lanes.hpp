// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Several jobs of the same processes: what is compared has engines of its own, which meet at a port
// that rank 0 tells the others through an engine that they have already. Thread: one.
#pragma once

#include <functional>

#include "unisono/unisono.hpp"

namespace unisono::tools {

// Joins another job of the same ranks. Collective: all ranks open the same lanes in the same order.
using OpenLane = std::function<Result<Engine>(const Options& options, int lane)>;

// Whether a launcher has started this process as a rank. An error when one has that does not say
// where rank 0 listens, so that further jobs could not meet.
Result<bool> started_as_rank();
// For processes that `unisono run` has started. `control` outlives the function.
OpenLane lanes_of_job(Engine& control);

}  // namespace unisono::tools
