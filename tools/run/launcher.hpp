// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Runs a job from start to verdict. Blocks until everything it started has ended.
#pragma once

#include "rendezvous/handshake/handshake.hpp"
#include "run/host_layout.hpp"
#include "run/verdict.hpp"

namespace unisono::tools {

// The exit code is in the result; the output of the ranks has been printed, the verdict has not.
JobEnd run_job(const RunSettings& settings, const rendezvous::JobKey& key);

}  // namespace unisono::tools
