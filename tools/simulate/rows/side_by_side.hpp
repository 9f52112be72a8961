// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Plays rows side by side on the cores there are, each in a process of its own: what a row needed
// is given back when it ends, and none waits for another's allocator.
// Thread: one; the process has no other.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "simulate/report.hpp"

namespace unisono::tools {

// How much of all rows is done, 0 to 1, and a row that is under way.
using RowsProgress = std::function<void(double done, const SimulatedRow& row)>;

// How many rows are played at a time: what was asked for, or as many as there are cores where that
// is worth it.
int rows_at_a_time(const SimulateSettings& settings, const std::vector<SimulatedRow>& rows);

// Fills in the results of all rows, the longest first. An error is that of the first row that
// cannot be, in their order, or says which row's process ended before it was done.
Status play_all(const SimulateSettings& settings, std::vector<SimulatedRow>& rows,
                const RowsProgress& progress);

}  // namespace unisono::tools
