// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Options that would be read and then mean nothing: they are refused, since whoever gives one
// expects the answer to depend on it. Pure.
#pragma once

#include <CLI/CLI.hpp>

#include "simulate/settings.hpp"
#include "unisono/status.hpp"

namespace unisono::tools {

// Options of a job beside --study or --list, and the other way round.
Status check_place(const CLI::App& app, const SimulateSettings& settings);
// Options of a job without those that they belong to. After the names have been read.
Status check_sense(const CLI::App& app, const SimulateSettings& settings);

}  // namespace unisono::tools
