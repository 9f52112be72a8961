// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A check of CLI11 for numbers of a command line: CLI::Range takes what is not a number for one.
#pragma once

#include <CLI/CLI.hpp>

#include "base/data/text.hpp"

namespace unisono::tools {

inline CLI::Validator between(double least, double most) {
  const auto why = [least, most](std::string& text) {
    double value = 0;
    const bool is_number = CLI::detail::lexical_cast(text, value);
    if (is_number && value >= least && value <= most) return std::string();
    return cat(text, " is not a number from ", least, " to ", most);
  };
  return CLI::Validator(why, cat("FLOAT in [", least, " - ", most, "]"));
}

}  // namespace unisono::tools
