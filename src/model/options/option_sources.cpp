// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "model/options/option_sources.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>

#include "base/data/text.hpp"
#include "base/os/text_file.hpp"
#include "model/options/option_values.hpp"

namespace unisono {
namespace {

constexpr std::string_view kPrefix = "UNISONO_";
constexpr std::string_view kPeerPrefix = "UNISONO_PEER_";
constexpr const char* kConfigVariable = "UNISONO_CONFIG";
// Switches stall reports off altogether; it has no row because it has no value of its own.
constexpr const char* kStallCheckDisable = "HOROVOD_STALL_CHECK_DISABLE";
constexpr std::size_t kFileBytesMax = 1 << 20;

// Variables with our prefix that are not options: those of the launcher and of the tools.
constexpr std::string_view kOwnVariables[] = {
    "UNISONO_CONFIG",     "UNISONO_RANK",       "UNISONO_SIZE",      "UNISONO_LOCAL_RANK",
    "UNISONO_LOCAL_SIZE", "UNISONO_CROSS_RANK", "UNISONO_CROSS_SIZE", "UNISONO_ADDRESS",
    "UNISONO_KEY_FD",     "UNISONO_KEY_FILE",   "UNISONO_LISTEN_FD", "UNISONO_BIND_HOST",
    "UNISONO_JOB",        "UNISONO_JOB_DIR",    "UNISONO_HOST",      "UNISONO_BIN",
    "UNISONO_UPDATE_DOCS"};

// Horovod's knobs for machinery that unisono does not have.
constexpr std::string_view kIgnoredHorovod[] = {
    "HOROVOD_AUTOTUNE", "HOROVOD_HIERARCHICAL_ALLREDUCE", "HOROVOD_HIERARCHICAL_ALLGATHER"};

template <typename Range>
bool contains(const Range& items, std::string_view item) {
  return std::find(std::begin(items), std::end(items), item) != std::end(items);
}

std::string translate_horovod(std::string_view key, std::string value) {
  if (key != "log") return value;
  std::string level;
  for (const char c : trim(value)) level.push_back(static_cast<char>(c | 0x20));
  if (level == "warning") return "warn";
  if (level == "trace") return "debug";
  if (level == "fatal") return "error";
  return level;
}

using Lookup = std::function<std::optional<std::string>(const std::string&)>;

// An empty variable counts as unset: shells leave those behind.
std::optional<std::string> find_variable(const Lookup& lookup, std::string_view name) {
  auto value = lookup(std::string(name));
  if (value && trim(*value).empty()) value.reset();
  return value;
}

Status apply_horovod(Options& options, const Lookup& lookup) {
  for (const OptionRow& row : option_table()) {
    if (row.alias.empty()) continue;
    if (const auto value = find_variable(lookup, row.alias)) {
      const Status status =
          set_from(options, row.key, translate_horovod(row.key, *value), row.alias);
      if (!status) return status;
    }
  }
  const auto disabled = find_variable(lookup, kStallCheckDisable);
  if (disabled && parse_flag(*disabled).value_or(false)) options.stall_warning_s = 0;
  return {};
}

}  // namespace

Status apply_option_text(Options& options, std::string_view text, std::string_view path) {
  std::map<std::string, int, std::less<>> seen;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t newline = text.find('\n');
    std::string_view line = text.substr(0, newline);
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;

    const std::string origin = cat(path, ":", number);
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
      return {Code::invalid_argument,
              cat(origin, ": \"", line.substr(0, 80), "\" is no \"key = value\" line")};
    }
    const std::string_view key = trim(line.substr(0, equals));
    if (const auto [earlier, fresh] = seen.emplace(key, number); !fresh) {
      return {Code::invalid_argument,
              cat(origin, ": ", key, " was set in line ", earlier->second, " already")};
    }
    if (Status status = set_from(options, key, line.substr(equals + 1), origin); !status) {
      return status;
    }
  }
  return {};
}

Status apply_option_file(Options& options, const std::string& path) {
  const auto text = text_of_file(path, kFileBytesMax + 1);
  if (!text) {
    return {Code::invalid_argument, cat("cannot read the options file ", path, " (named by ",
                                        kConfigVariable, "): ", std::strerror(errno))};
  }
  if (text->size() > kFileBytesMax) {
    return {Code::invalid_argument,
            cat("the options file ", path, " is larger than ", kFileBytesMax,
                " bytes; is it the right file?")};
  }
  return apply_option_text(options, *text, path);
}

std::vector<OptionNote> notes_on_variables(std::span<const std::string> names) {
  std::vector<std::string_view> known(std::begin(kOwnVariables), std::end(kOwnVariables));
  for (const OptionRow& row : option_table()) known.push_back(row.variable);
  std::vector<OptionNote> notes;
  for (const std::string& name : names) {
    if (contains(kIgnoredHorovod, name)) {
      notes.push_back({LogLevel::info, cat(name, " is set but has no meaning here; ignored")});
    } else if (name.starts_with(kPeerPrefix)) {
      continue;                             // the Python that `unisono bench` measures a peer with
    } else if (name.starts_with(kPrefix) && !contains(known, name)) {
      const std::string_view close = nearest(name, known);
      notes.push_back({LogLevel::warn,
                       cat("the variable ", name, " is unknown and ignored",
                           close.empty() ? "" : cat("; did you mean ", close, "?"))});
    }
  }
  return notes;
}

Result<Options> Options::from_lookup(const Lookup& lookup) {
  Options options;
  if (const auto path = find_variable(lookup, kConfigVariable)) {
    if (Status status = apply_option_file(options, *path); !status) return status;
  }
  if (Status status = apply_horovod(options, lookup); !status) return status;
  for (const OptionRow& row : option_table()) {
    if (const auto value = find_variable(lookup, row.variable)) {
      if (Status status = set_from(options, row.key, *value, row.variable); !status) return status;
    }
  }
  if (Status status = options.validate(); !status) return status;
  return options;
}

Result<Options> Options::from_environment() {
  Result<Options> options = from_lookup([](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  });
  if (!options) return options;

  static std::atomic<bool> told{false};
  if (told.exchange(true)) return options;
  // This is where UNISONO_LOG is first known, and the notes must obey it.
  set_log(log_level_from(options->log));
  std::vector<std::string> names;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    names.emplace_back(*variable, std::strcspn(*variable, "="));
  }
  for (const OptionNote& note : notes_on_variables(names)) log_line(note.level, note.text);
  return options;
}

}  // namespace unisono
