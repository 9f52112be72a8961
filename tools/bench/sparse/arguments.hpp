// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The command line of `unisono bench sparse`, checked before anything is started.
#pragma once

#include <string>
#include <vector>

#include "bench/sparse/settings.hpp"

namespace unisono::tools {

struct SparseArguments {
  SparseBenchSettings settings;
  int exit_code = -1;                        // >= 0: nothing is left to do, exit with this
};

SparseArguments parse_sparse_arguments(std::vector<std::string> arguments);

// What --algorithm all means: what the engine would choose, and every algorithm that it has.
std::vector<SparseMethod> known_sparse_methods();

}  // namespace unisono::tools
