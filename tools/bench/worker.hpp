// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// `unisono __bench-worker MODE`: one rank of unisono under measurement. Takes work from the
// orchestrator's socket until told to quit. MODE: named, arena, persistent.
#pragma once

#include <string>

namespace unisono::tools {

int serve_as_bench_worker(const std::string& mode);

}  // namespace unisono::tools
