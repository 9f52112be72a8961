// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Reads the arguments of a subcommand. Thread: one.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "exit_codes.hpp"

namespace unisono::tools {

// Returns the exit code when there is nothing more to do: help was printed, or what was wrong.
inline std::optional<int> read_command_line(CLI::App& app, std::vector<std::string> arguments) {
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kSuccess : kWrongUsage;
  }
  return std::nullopt;
}

}  // namespace unisono::tools
