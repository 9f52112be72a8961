// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The measurement: case by case, all ways to reduce it take turns. Every rank runs it, and all of
// them do the same, since the number of calls follows from what rank 0 tells the others. Thread:
// one.
#pragma once

#include <functional>
#include <string>

#include "bench/ranks/lanes.hpp"
#include "bench/sparse/results.hpp"
#include "bench/sparse/settings.hpp"
#include "unisono/unisono.hpp"

namespace unisono::tools {

// done is the part of the work that is over, 0 to 1.
using SparseProgress = std::function<void(double done, const std::string& now)>;

// `engine` runs all sparse collectives and the dense one whose algorithm it chooses; ranks also
// agree through it. Each pinned dense algorithm has a lane of its own, with `base` otherwise.
// Results are those of rank 0. The error names the way; corrupted: a sum was wrong.
Result<SparseBenchResults> measure_sparse(const SparseBenchSettings& settings, const Options& base,
                                          Engine& engine, const OpenLane& open,
                                          const SparseProgress& progress);

}  // namespace unisono::tools
