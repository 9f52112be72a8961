// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/common_words.hpp"

#include <algorithm>
#include <iostream>

#include "base/data/text.hpp"
#include "command_line.hpp"
#include "exit_codes.hpp"
#include "model/options/option_values.hpp"
#include "unisono/options.hpp"

namespace unisono::tools {

Status wrong_word(std::string message) {
  return Status(Code::invalid_argument, std::move(message));
}

std::string instead_of(std::string_view word, const std::vector<std::string_view>& known) {
  const std::string_view near = nearest(word, known);
  return near.empty() ? cat("; one of ", join_text(known)) : cat("; did you mean ", near, "?");
}

CLI::Option* add_list(CLI::App& app, const char* name, std::vector<std::string>& into,
                      const char* about) {
  return app.add_option(name, into, about)->delimiter(',')->allow_extra_args(false);
}

Status read_engine_options(const NamedOptions& named, const std::vector<std::string>& set,
                           std::string_view own, std::string_view word, NamedOptions& into) {
  for (const auto& [key, value] : named) {
    if (!value.empty()) into.emplace_back(key, value);
  }
  for (const std::string& pair : set) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos) return wrong_word(cat("--set ", pair, ": write key=value"));
    into.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
    if (into.back().first == own) return wrong_word(cat("--set ", own, ": use ", word));
  }
  Options tried;
  for (const auto& [key, value] : into) {
    if (Status bad = tried.set(key, value); !bad.ok()) return bad;
  }
  return tried.validate();
}

Status check_plot(std::string_view file) {
  if (file.empty() || file.ends_with(".svg")) return {};
  return wrong_word(cat("--plot ", file, ": the picture is an SVG; name it FILE.svg"));
}

int read_bench_line(std::string_view command, CLI::App& app, std::vector<std::string> words,
                    const std::function<Status()>& read) {
  // Launchers of this field write -np; it is one word here.
  std::replace(words.begin(), words.end(), std::string("-np"), std::string("--np"));
  if (const auto done = read_command_line(app, std::move(words))) return *done;
  const Status bad = read();
  if (bad.ok()) return -1;
  std::cerr << command << ": " << bad.message() << "\n";
  return kWrongUsage;
}

}  // namespace unisono::tools
