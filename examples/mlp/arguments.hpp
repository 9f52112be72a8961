// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The command line of the example.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mlp {

struct Arguments {
  int steps = 100;
  int batch = 64;
  std::vector<int> hidden = {1024, 1024};
  float rate = 0.02F;
  std::uint64_t seed = 1;
};

// Prints help or the mistake and ends the process where there is nothing to run.
Arguments parse_arguments(int argc, char** argv);

}  // namespace mlp
