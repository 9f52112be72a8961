// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The one table of options. Names, variables, documentation and agreement are all read from it.
#include "unisono/options.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <variant>
#include <vector>

#include "base/data/hash.hpp"
#include "base/data/text.hpp"
#include "model/options/cpu_request.hpp"
#include "model/options/option_sources.hpp"
#include "model/options/option_values.hpp"

namespace unisono {
namespace {

using Member = std::variant<std::string Options::*, std::int64_t Options::*, bool Options::*,
                            double Options::*>;
struct Entry {
  OptionRow row;
  Member member;
};

constexpr std::string_view kMicrosecondsOrAuto = "microseconds or auto";
constexpr std::string_view kFile = "a file, or DYNAMIC";
constexpr std::string_view kCpuSets = "off, a fraction or lists";
constexpr std::string_view kMilliseconds = "milliseconds";
constexpr std::string_view kCount = "a count from ";
constexpr std::int64_t kCountMax = 1 << 20;

bool is_count(std::string_view kind) { return kind.starts_with(kCount); }
std::int64_t least_count(std::string_view kind) { return kind.back() - '0'; }

// Beyond this many seconds a limit is no limit, and nanoseconds would overflow.
constexpr double kSecondsMax = 1e9;

constexpr Entry kEntries[] = {
    {{"order", "UNISONO_ORDER", "", "one of auto|coordinator|tree|cache|topo", true,
      "How the ranks agree what is ready and in which order. coordinator: rank 0 counts requests; "
      "tree: inner nodes merge them; cache: one bit per operation seen before; topo: an order "
      "learned "
      "once, then no messages; auto: cache, and topo once the steps have become alike."},
     &Options::order},
    {{"pacing", "UNISONO_PACING", "", "one of event|cycle|gs|nbcs", true,
      "When a negotiation round starts. event: as soon as there is something to negotiate; cycle: "
      "every cycle_ms, all ranks at once; gs: the same with an agreed sleep; nbcs: as cycle, and "
      "differs from "
      "it in the simulator only, where cycle blocks."},
     &Options::pacing},
    {{"planner", "UNISONO_PLANNER", "", "one of threshold|wfbp|single|groups", true,
      "What travels together. threshold: fuse up to fusion_bytes; wfbp: each tensor alone; "
      "single: everything ready in one bucket; groups: only what the caller grouped."},
     &Options::planner},
    {{"codec", "UNISONO_CODEC", "", "one of none|fp16|bf16", true,
      "How tensors of an allreduce are encoded on the way, where a call does not say. none: as "
      "they "
      "are; fp16, bf16: float32 and float64 travel and are reduced as 16-bit floats."},
     &Options::codec},
    {{"transport", "UNISONO_TRANSPORT", "", "one of auto|shm|tcp", true,
      "How bytes move. auto: shared memory within a host, TCP between hosts."},
     &Options::transport},
    {{"integrity", "UNISONO_INTEGRITY", "", "one of auth|plain", true,
      "What guards frames between hosts. auth: a keyed MAC on every frame, so that strangers on "
      "the "
      "network can neither make, change nor repeat one; plain: a checksum that finds damage, for "
      "networks nobody else is on."},
     &Options::integrity},
    {{"algorithm", "UNISONO_ALGORITHM", "", "one of auto|ring|recursive_doubling|direct", true,
      "The allreduce algorithm over messages; ranks that share memory need none. auto: chosen by "
      "size and number of ranks."},
     &Options::algorithm},
    {{"tree_radix", "UNISONO_TREE_RADIX", "", "a count from 2", true,
      "How many children a node of the control tree has (order tree and cache)."},
     &Options::tree_radix},
    {{"cache_capacity", "UNISONO_CACHE_CAPACITY", "HOROVOD_CACHE_CAPACITY", "a count from 1", true,
      "How many agreed operations are remembered; the least recently used goes first."},
     &Options::cache_capacity},
    {{"cycle_ms", "UNISONO_CYCLE_MS", "HOROVOD_CYCLE_TIME", "milliseconds", true,
      "From the begin of one negotiation round to the next (pacing cycle, gs and nbcs)."},
     &Options::cycle_ms},
    {{"gs_cycles", "UNISONO_GS_CYCLES", "", "a count from 1", true,
      "How many rounds pass between two agreements on how long to sleep (pacing gs)."},
     &Options::gs_cycles},
    {{"topo_patience_s", "UNISONO_TOPO_PATIENCE_S", "", "seconds", true,
      "How long a planned tensor may be missing on this rank before all negotiate again "
      "(order topo)."},
     &Options::topo_patience_s},
    {{"fusion_bytes", "UNISONO_FUSION_BYTES", "HOROVOD_FUSION_THRESHOLD", "bytes", true,
      "The most bytes the threshold planner puts into one bucket; 0 fuses nothing."},
     &Options::fusion_bytes},
    {{"teams", "UNISONO_TEAMS", "", "a count from 1", true,
      "How many buckets of a process set are in flight at once, each moved by a team of its own; "
      "the first 8 through shared memory, further ones by messages."},
     &Options::teams},
    {{"team_threads", "UNISONO_TEAM_THREADS", "", "a count from 1", false,
      "How many threads of this rank share the copying and reducing of one bucket."},
     &Options::team_threads},
    {{"arena_bytes", "UNISONO_ARENA_BYTES", "", "bytes", false,
      "The most shared memory this rank may use; address space only until it is touched. "
      "0: as much as the machine has."},
     &Options::arena_bytes},
    {{"deterministic", "UNISONO_DETERMINISTIC", "", "flag", true,
      "Same inputs give the same bits in every run, whatever the timing."},
     &Options::deterministic},
    {{"fuse_groups", "UNISONO_FUSE_GROUPS", "", "flag", true,
      "Whether a group may share a bucket with other tensors."},
     &Options::fuse_groups},
    {{"join_divisor", "UNISONO_JOIN_DIVISOR", "", "one of size|active", true,
      "What an average divides by after ranks have joined: all ranks, or those still active."},
     &Options::join_divisor},
    {{"heartbeat_s", "UNISONO_HEARTBEAT_S", "", "seconds", true,
      "How often a rank shows its peers that it is alive."},
     &Options::heartbeat_s},
    {{"suspect_s", "UNISONO_SUSPECT_S", "", "seconds", true,
      "Silence after which a peer is suspected, and logged."},
     &Options::suspect_s},
    {{"dead_s", "UNISONO_DEAD_S", "", "seconds", true, "Silence after which a peer is lost."},
     &Options::dead_s},
    {{"join_timeout_s", "UNISONO_JOIN_TIMEOUT_S", "", "seconds", false,
      "How long joining waits for all ranks to come."},
     &Options::join_timeout_s},
    {{"stall_warning_s", "UNISONO_STALL_WARNING_S", "HOROVOD_STALL_CHECK_TIME_SECONDS", "seconds",
      true, "After this long, say which ranks hold up a tensor; 0 never does."},
     &Options::stall_warning_s},
    {{"stall_limit_s", "UNISONO_STALL_LIMIT_S", "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "seconds",
      true, "After this long, a tensor that some ranks never submitted fails; 0 never does."},
     &Options::stall_limit_s},
    {{"spin_us", "UNISONO_SPIN_US", "", kMicrosecondsOrAuto, false,
      "How long a waiting thread looks again before it sleeps. auto: by the cores it may use."},
     &Options::spin_us},
    {{"cpu_sets", "UNISONO_CPU_SETS", "", kCpuSets, false,
      "CPUs apart for the engine's threads, the input pipeline and the compute. 0.25: a quarter of "
      "this rank's cores for the first two; engine=0-1;input=2-3;compute=4-15: these very CPUs. "
      "The "
      "engine binds its own threads; the other sets are for the program to use (placement())."},
     &Options::cpu_sets},
    {{"timeline", "UNISONO_TIMELINE", "HOROVOD_TIMELINE", kFile, false,
      "Where rank 0 writes a timeline for chrome://tracing or Perfetto; rank 3 writes beside it "
      "(run.json, run.3.json). DYNAMIC: nowhere until start_timeline() is called."},
     &Options::timeline},
    {{"timeline_mark_cycles", "UNISONO_TIMELINE_MARK_CYCLES", "HOROVOD_TIMELINE_MARK_CYCLES",
      "flag", false, "Whether the timeline marks where rounds of negotiation begin."},
     &Options::timeline_mark_cycles},
    {{"log", "UNISONO_LOG", "HOROVOD_LOG_LEVEL", "one of debug|info|warn|error|off", false,
      "The least urgent lines written to standard error."},
     &Options::log},
};

template <std::size_t... I>
constexpr std::array<OptionRow, sizeof...(I)> rows_of(std::index_sequence<I...>) {
  return {kEntries[I].row...};
}
constexpr auto kRows = rows_of(std::make_index_sequence<std::size(kEntries)>());
constexpr auto kKeys = [] {
  std::array<std::string_view, kRows.size()> keys;
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = kRows[i].key;
  return keys;
}();

const Entry* find(std::string_view key) {
  // Command lines write fusion-bytes, files and variables fusion_bytes.
  std::string plain(key);
  std::replace(plain.begin(), plain.end(), '-', '_');
  for (const Entry& entry : kEntries) {
    if (entry.row.key == plain) return &entry;
  }
  return nullptr;
}

std::string allowed_text(const OptionRow& row) {
  if (row.kind == "bytes") return "a whole number, with K, M, G or T for powers of 1024";
  if (row.kind == "flag") return "1, 0, true, false, yes, no, on, off";
  if (row.kind == "seconds") return cat("a number of seconds from 0 to ", kSecondsMax);
  if (row.kind == kMilliseconds) return "a number of milliseconds from 0.001 to 60000";
  if (is_count(row.kind))
    return cat("a whole number from ", least_count(row.kind), " to ", kCountMax);
  if (row.kind == kMicrosecondsOrAuto) return "a number of microseconds from 0 to 1000000, or auto";
  if (row.kind == kFile) return "the name of a file, or DYNAMIC";
  if (row.kind == kCpuSets) {
    return "off, a fraction of the cores between 0 and 1, or lists that do not overlap, such as "
           "engine=0-1;input=2-3;compute=4-15, where only input may be empty";
  }
  return join_text(choices_of(row.kind));
}

// One overload per type of member: true when the text is allowed and was stored.
bool store(std::string& field, const OptionRow& row, std::string_view text) {
  const auto choices = choices_of(row.kind);
  const bool allowed =
      row.kind == kCpuSets
          ? parse_cpu_request(text).has_value()
          : row.kind == kFile || std::find(choices.begin(), choices.end(), text) != choices.end();
  if (!allowed) return false;
  field = text;
  return true;
}
bool store(std::int64_t& field, const OptionRow& row, std::string_view text) {
  const auto bytes = parse_bytes(text);
  if (is_count(row.kind) && (!bytes || *bytes < least_count(row.kind) || *bytes > kCountMax)) {
    return false;
  }
  if (bytes) field = *bytes;
  return bytes.has_value();
}
bool store(bool& field, const OptionRow&, std::string_view text) {
  const auto flag = parse_flag(text);
  if (flag) field = *flag;
  return flag.has_value();
}
bool store(double& field, const OptionRow& row, std::string_view text) {
  const bool may_be_auto = row.kind == kMicrosecondsOrAuto;
  if (row.kind == kMilliseconds) {
    const auto given = parse_number(text);
    if (!given || *given < 0.001 || *given > 60000) return false;
    field = *given;
    return true;
  }
  const auto number = may_be_auto && (text == "auto" || text == "-1") ? -1.0 : parse_number(text);
  if (!number || *number > (may_be_auto ? 1e6 : kSecondsMax)) return false;
  if (*number < 0 && !(may_be_auto && *number == -1.0)) return false;
  field = *number;
  return true;
}

std::string text_of(const Options& options, const Entry& entry) {
  return std::visit(
      [&](auto member) {
        const auto& field = options.*member;
        if (entry.row.kind == kMicrosecondsOrAuto && cat(field).starts_with('-')) {
          return std::string("auto");
        }
        return cat(field);
      },
      entry.member);
}

}  // namespace

Status set_from(Options& options, std::string_view key, std::string_view value,
                std::string_view origin) {
  const std::string where = origin.empty() ? "" : cat(" (", origin, ")");
  const Entry* entry = find(key);
  if (entry == nullptr) {
    const std::string_view close = nearest(key, kKeys);
    return {Code::invalid_argument,
            cat("there is no option \"", key, "\"", where,
                close.empty() ? cat("; the options are ", join_text(kKeys))
                              : cat("; did you mean ", close, "?"))};
  }
  value = trim(value);
  const auto store_value = [&](auto member) { return store(options.*member, entry->row, value); };
  if (std::visit(store_value, entry->member)) return {};
  const std::string_view close = nearest(value, choices_of(entry->row.kind));
  return {Code::invalid_argument,
          cat("option ", entry->row.key, where, ": \"", value, "\" is not allowed; allowed: ",
              allowed_text(entry->row), close.empty() ? "" : cat("; did you mean ", close, "?"))};
}

Status Options::set(std::string_view key, std::string_view value) {
  return set_from(*this, key, value, "");
}

std::string Options::get(std::string_view key) const {
  const Entry* entry = find(key);
  return entry == nullptr ? std::string() : text_of(*this, *entry);
}

Status Options::validate() const {
  Options copy;
  for (const OptionRow& row : kRows) {
    if (Status status = set_from(copy, row.key, get(row.key), ""); !status) return status;
  }
  if (!(heartbeat_s > 0 && suspect_s > heartbeat_s && dead_s > suspect_s)) {
    return {Code::invalid_argument,
            cat("dead_s must be larger than suspect_s, suspect_s larger than heartbeat_s, and "
                "heartbeat_s larger than 0, so that a late heartbeat is not taken for a death; got "
                "dead_s=", dead_s, " suspect_s=", suspect_s, " heartbeat_s=", heartbeat_s)};
  }
  if (join_timeout_s <= 0) {
    return {Code::invalid_argument, "join_timeout_s must be larger than 0: nobody joins at once"};
  }
  return {};
}

std::string Options::agreed_text() const {
  std::string text;
  for (const Entry& entry : kEntries) {
    if (entry.row.agreed) append_text(text, cat(entry.row.key, "=", text_of(*this, entry), "\n"));
  }
  return text;
}

std::uint64_t Options::agreed_hash() const { return hash_text(agreed_text()); }

std::span<const OptionRow> option_table() { return kRows; }

std::string option_table_markdown() {
  const Options defaults;
  std::string text =
      "| option | variable | also read from | value | default | same on all ranks | meaning |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n";
  for (const Entry& entry : kEntries) {
    const OptionRow& row = entry.row;
    const auto choices = choices_of(row.kind);
    const std::string value = text_of(defaults, entry);
    append_text(text, cat("| `", row.key, "` | `", row.variable, "` | ",
                          row.alias.empty() ? "" : cat("`", row.alias, "`"), " | ",
                          choices.empty() ? std::string(row.kind)
                                          : cat("`", join_text(choices, "`, `"), "`"),
                          " | `", row.kind == "bytes" ? format_bytes(std::stoll(value)) : value,
                          "` | ", row.agreed ? "yes" : "no", " | ", row.help, " |\n"));
  }
  return text;
}

}  // namespace unisono
