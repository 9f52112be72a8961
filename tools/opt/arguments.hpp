// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The command line of `unisono opt`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "opt/data/generate.hpp"
#include "opt/model/train.hpp"

namespace unisono::tools {

enum class OptAction { train, predict, generate };

struct OptArguments {
  OptAction action = OptAction::train;
  opt::TrainSettings train;
  opt::GenerateSettings generate;
  std::string data, held, cache, model, out, json, command;
  bool quiet = false;
  int exit_code = -1;                       // >= 0: nothing is left to do, exit with this
};

OptArguments parse_opt_arguments(std::vector<std::string> arguments);

}  // namespace unisono::tools
