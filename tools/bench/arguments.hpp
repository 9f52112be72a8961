// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The command line of `unisono bench`, checked before anything is started.
#pragma once

#include <string>
#include <vector>

#include "bench/settings.hpp"

namespace unisono::tools {

struct BenchArguments {
  BenchSettings settings;
  bool list = false;
  int exit_code = -1;                        // >= 0: nothing is left to do, exit with this
};

BenchArguments parse_bench_arguments(std::vector<std::string> arguments);

}  // namespace unisono::tools
