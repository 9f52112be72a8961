// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Everything that can be configured, as one value: read once, immutable while an engine lives,
// agreed across ranks. docs/OPTIONS.md and `unisono run --help` come from the same table.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "unisono/status.hpp"

namespace unisono {

struct UNISONO_API Options {
  // How the job is ordered, planned and moved.
  std::string order = "auto";
  std::string pacing = "event";
  std::string planner = "merged";
  std::string codec = "none";
  std::string codec_rules = "";
  std::string plan_codecs = "none";
  std::string transport = "auto";
  std::string integrity = "auth";
  bool encrypt = false;
  std::string connect = "auto";
  std::string heal = "auto";
  std::int64_t connections = -1;  // < 0: by the speed of the network
  std::string algorithm = "auto";
  std::int64_t tree_radix = 16;
  std::int64_t cache_capacity = 1024;
  double cycle_ms = 1.0;
  std::int64_t gs_cycles = 1;
  double topo_patience_s = 1.0;
  std::int64_t fusion_bytes = 64 << 20;
  std::int64_t teams = 1;
  std::int64_t team_threads = 1;
  std::int64_t buffer_bytes = 0;
  std::int64_t arena_bytes = 0;
  bool deterministic = false;
  bool keep_inputs = false;
  bool fuse_groups = false;
  std::string join_divisor = "size";
  std::string emulate = "off";

  // When something counts as a fault.
  double heartbeat_s = 1.0;
  double suspect_s = 3.0;
  double dead_s = 4.0;
  double join_timeout_s = 60.0;
  double stall_warning_s = 10.0;
  double stall_limit_s = 300.0;

  // How this process behaves; may differ between ranks.
  double spin_us = -1;  // < 0: chosen from the cores this process may use
  std::int64_t io_threads = -1;  // < 0: by the number of connections and of cores
  std::string congestion = "cubic";
  std::string cpu_sets = "off";
  bool bind_compute = false;
  std::string timeline = "";
  bool timeline_mark_cycles = false;
  std::string trace = "";
  std::string log = "warn";

  // Reads UNISONO_CONFIG (a file of "key = value" lines), then UNISONO_* and HOROVOD_* variables.
  static Result<Options> from_environment();
  // The same from any lookup, for tests and launchers.
  static Result<Options> from_lookup(
      const std::function<std::optional<std::string>(const std::string&)>& lookup);
  // Sets one option by its table name; the error names the option, the value and what is allowed.
  Status set(std::string_view key, std::string_view value);
  std::string get(std::string_view key) const;
  // Whether the values fit each other (dead_s > suspect_s > heartbeat_s, ...) and each is allowed,
  // also when the fields were set directly.
  Status validate() const;

  // "key=value" lines of the options that all ranks must share, in table order, and their hash.
  std::string agreed_text() const;
  std::uint64_t agreed_hash() const;
};

// A name that an option allows, and what it means; "" where the name says it all.
struct OptionChoice {
  std::string_view name;
  std::string_view about;
};

enum class OptionForm : std::uint8_t {
  choice,
  choices,
  bytes,
  count,
  count_or_auto,
  flag,
  seconds,
  milliseconds,
  microseconds_or_auto,
  file,
  file_or_dynamic,
  cpu_sets,
  wire,
  codec,
  codec_rules,
  plan_codecs
};

// What the value of an option looks like.
struct OptionKind {
  OptionForm form = OptionForm::choice;
  std::span<const OptionChoice> choices = {};  // choice, choices: what is allowed
  std::int64_t least = 0;                      // count: the smallest that is allowed
  std::int64_t most = 0;                       // count_or_auto: the largest that is allowed
};
// "one of a|b|c", "bytes", "a count from 2": as --help prints it.
UNISONO_API std::string kind_text(const OptionKind& kind);

// One row per option: the single source of the environment, the documentation and --help.
struct OptionRow {
  std::string_view key;          // "fusion_bytes"
  std::string_view variable;     // "UNISONO_FUSION_BYTES"
  std::string_view alias;        // "HOROVOD_FUSION_THRESHOLD" or ""
  OptionKind kind;
  bool agreed;                   // must be the same on every rank
  std::string_view help;
};
UNISONO_API std::span<const OptionRow> option_table();
UNISONO_API std::string option_table_markdown();

}  // namespace unisono
