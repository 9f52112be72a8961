// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Simulates one row of what was asked for, by its engine, once for each seed. Thread: one.
#pragma once

#include "simulate/report.hpp"

namespace unisono::tools {

// The step that a rank computes in a job of this many: with a global batch, its share of it, where
// the rank with the most samples counts. An error where there are more ranks than samples.
Result<sim::Workload> workload_for(const SimulateSettings& settings, int ranks);

// Fills in the results of a row. Settings that cannot be are an error; a job that failed is none.
Status play(const SimulateSettings& settings, SimulatedRow& row, const sim::Progress& progress);

// A study with each of the seeds.
// With one of its parameters multiplied, unless it is null.
Result<SeededStudy> play_study(const SimulateSettings& settings,
                               const sim::StudyProgress& progress,
                               const sim::Parameter* varied = nullptr, double factor = 1);

}  // namespace unisono::tools
