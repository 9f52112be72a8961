// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// `unisono bench sparse`: measures sums of sparse vectors, here or as a rank of a job.
#pragma once

#include <string>
#include <vector>

namespace unisono::tools {

// arguments: those after `bench sparse`. Returns the exit code.
int bench_sparse_command(std::vector<std::string> arguments);

}  // namespace unisono::tools
