// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the command lines of `bench step`, `bench sparse` and `bench codec` have in common.
// Pure; thread: any.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "unisono/status.hpp"

namespace unisono::tools {

// An error of whoever wrote the command line.
Status wrong_word(std::string message);
// What to write instead: the nearest of those known, or all of them.
std::string instead_of(std::string_view word, const std::vector<std::string_view>& known);
// A list is written with commas; without this it would swallow the word that follows it.
CLI::Option* add_list(CLI::App& app, const char* name, std::vector<std::string>& into,
                      const char* about);

using NamedOptions = std::vector<std::pair<std::string, std::string>>;
// Options of the engine: those with a word of their own where it is not empty, then key=value pairs of
// --set, in which `own` has another word to use. The whole is checked.
Status read_engine_options(const NamedOptions& named, const std::vector<std::string>& set,
                           std::string_view own, std::string_view word, NamedOptions& into);
Status check_plot(std::string_view file);

// Reads the words of a command as the app describes them, and checks them by `read`. The exit code
// where nothing is left to do, after saying what was wrong; -1 otherwise.
int read_bench_line(std::string_view command, CLI::App& app, std::vector<std::string> words,
                    const std::function<Status()>& read);

}  // namespace unisono::tools
