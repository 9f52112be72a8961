// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Where options come from besides code: a file, the environment, Horovod's names.
// Precedence: UNISONO_* over HOROVOD_* over the file over the default. Pure except for reading
// the file; only from_environment() looks at the process and logs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "unisono/options.hpp"

namespace unisono {

// Sets one option; errors name `origin` (a variable, a file and line) when it is not empty.
Status set_from(Options& options, std::string_view key, std::string_view value,
                std::string_view origin);

// Reads "key = value" lines; # starts a comment. `path` is for messages.
Status apply_option_text(Options& options, std::string_view text, std::string_view path);
Status apply_option_file(Options& options, const std::string& path);

// What people should know about variables that are set but do nothing.
struct OptionNote {
  LogLevel level;
  std::string text;
};
std::vector<OptionNote> notes_on_variables(std::span<const std::string> names);

}  // namespace unisono
