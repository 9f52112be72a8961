// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The one table of options. Names, variables, documentation and agreement are all read from it.
// Long because it is that table: most of it is a row for each option, with its sentence.
#include "unisono/options.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <variant>
#include <vector>

#include "base/data/hash.hpp"
#include "base/data/text.hpp"
#include "model/codec/rules.hpp"
#include "model/options/choices.hpp"
#include "model/options/cpu_request.hpp"
#include "model/options/emulated_wire.hpp"
#include "model/options/option_sources.hpp"
#include "model/options/option_values.hpp"
#include "model/options/registry.hpp"

namespace unisono {
namespace {

using Member = std::variant<std::string Options::*, std::int64_t Options::*, bool Options::*,
                            double Options::*>;
struct Entry {
  OptionRow row;
  Member member;
};

constexpr OptionKind one_of(std::span<const OptionChoice> choices) {
  return {OptionForm::choice, choices};
}
constexpr OptionKind count_from(std::int64_t least) { return {OptionForm::count, {}, least}; }
constexpr OptionKind count_or_auto(std::int64_t least, std::int64_t most) {
  return {OptionForm::count_or_auto, {}, least, most};
}
constexpr OptionKind kBytes{OptionForm::bytes}, kFlag{OptionForm::flag},
    kSeconds{OptionForm::seconds}, kMilliseconds{OptionForm::milliseconds},
    kMicrosecondsOrAuto{OptionForm::microseconds_or_auto}, kFile{OptionForm::file},
    kFileOrDynamic{OptionForm::file_or_dynamic},
    kCpuSets{OptionForm::cpu_sets}, kWire{OptionForm::wire}, kCodec{OptionForm::codec},
    kCodecRules{OptionForm::codec_rules}, kCodecsOfPlans{OptionForm::plan_codecs};
constexpr std::int64_t kCountMax = 1 << 20;

// Beyond this many seconds a limit is no limit, and nanoseconds would overflow.
constexpr double kSecondsMax = 1e9;

constexpr Entry kEntries[] = {
    {{"order", "UNISONO_ORDER", "", one_of(kOrderChoices), true,
      "How the ranks agree what is ready and in which order."},
     &Options::order},
    {{"pacing", "UNISONO_PACING", "", one_of(kPacingChoices), true,
      "When a negotiation round starts."},
     &Options::pacing},
    {{"planner", "UNISONO_PLANNER", "", one_of(kPlannerChoices), true,
      "What travels together."},
     &Options::planner},
    {{"codec", "UNISONO_CODEC", "", kCodec, true,
      "How tensors of an allreduce are encoded on the way, where neither a call nor codec_rules says: "
      "none, fp16, bf16, or a composition such as ef|topk:512:4|qsgd:4 (COMPRESSION.md). What a "
      "codec cannot take, such as integers and maxima, travels as it is."},
     &Options::codec},
    {{"codec_rules", "UNISONO_CODEC_RULES", "", kCodecRules, true,
      "Codecs by the names of tensors, where a call does not say: *.bias=none,conv*=ef|topk:512:8. "
      "The first pattern that fits counts; * stands for any characters, ? for one."},
     &Options::codec_rules},
    {{"plan_codecs", "UNISONO_PLAN_CODECS", "", kCodecsOfPlans, true,
      "Codecs that a planned step may use for float32 and float64 sums and averages that name none, "
      "where a bucket ends sooner with one by measured costs: a list of fp16, bf16, fp8 and qsgd such "
      "as bf16,qsgd:8. Never with deterministic, nor before steps are planned."},
     &Options::plan_codecs},
    {{"transport", "UNISONO_TRANSPORT", "", one_of(kTransportChoices), true,
      "How bytes move."},
     &Options::transport},
    {{"integrity", "UNISONO_INTEGRITY", "", one_of(kIntegrityChoices), true,
      "What guards frames between hosts."},
     &Options::integrity},
    {{"encrypt", "UNISONO_ENCRYPT", "", kFlag, true,
      "Whether frames between hosts are also encrypted; needs integrity=auth."},
     &Options::encrypt},
    {{"connect", "UNISONO_CONNECT", "", one_of(kConnectChoices), true,
      "When ranks that share no memory connect with each other."},
     &Options::connect},
    {{"heal", "UNISONO_HEAL", "", one_of(kHealChoices), true,
      "Which broken connections are made again."},
     &Options::heal},
    {{"connections", "UNISONO_CONNECTIONS", "", count_or_auto(1, 8), true,
      "How many TCP connections share the data between two ranks. auto: 5 where the network is "
      "faster than 10 Gbit/s, or is loopback and there are 4 cores for each rank; else 1, and also "
      "where ranks connect on first use."},
     &Options::connections},
    {{"algorithm", "UNISONO_ALGORITHM", "", one_of(kAlgorithmChoices), true,
      "The algorithm over messages of every collective that has one of that name, the others follow "
      "fixed lines; ranks that share memory need none."},
     &Options::algorithm},
    {{"tree_radix", "UNISONO_TREE_RADIX", "", count_from(2), true,
      "How many children a node of the control tree has (order tree and cache)."},
     &Options::tree_radix},
    {{"cache_capacity", "UNISONO_CACHE_CAPACITY", "HOROVOD_CACHE_CAPACITY", count_from(1), true,
      "How many agreed operations are remembered; the least recently used goes first."},
     &Options::cache_capacity},
    {{"cycle_ms", "UNISONO_CYCLE_MS", "HOROVOD_CYCLE_TIME", kMilliseconds, true,
      "From the begin of one negotiation round to the next (pacing cycle, gs and nbcs)."},
     &Options::cycle_ms},
    {{"gs_cycles", "UNISONO_GS_CYCLES", "", count_from(1), true,
      "How many rounds pass between two agreements on how long to sleep (pacing gs)."},
     &Options::gs_cycles},
    {{"topo_patience_s", "UNISONO_TOPO_PATIENCE_S", "", kSeconds, true,
      "How long a planned tensor may be missing on this rank before all negotiate again (order "
      "topo)."},
     &Options::topo_patience_s},
    {{"fusion_bytes", "UNISONO_FUSION_BYTES", "HOROVOD_FUSION_THRESHOLD", kBytes, true,
      "The most bytes that planners other than single put into one bucket; 0 fuses nothing."},
     &Options::fusion_bytes},
    {{"teams", "UNISONO_TEAMS", "", count_from(1), true,
      "How many buckets of a process set are in flight at once, each moved by a team of its "
      "own; the first 8 through shared memory, further ones by messages."},
     &Options::teams},
    {{"team_threads", "UNISONO_TEAM_THREADS", "", count_from(1), false,
      "How many threads of this rank share the copying and reducing of one bucket."},
     &Options::team_threads},
    {{"buffer_bytes", "UNISONO_BUFFER_BYTES", "", kBytes, false,
      "How large a buffer each team has from the beginning for buckets that travel by messages; "
      "larger buckets get further ones when they come, which are kept for the next. 0: none."},
     &Options::buffer_bytes},
    {{"arena_bytes", "UNISONO_ARENA_BYTES", "", kBytes, false,
      "The most shared memory this rank may use; address space only until it is touched. 0: as "
      "much as the machine has."},
     &Options::arena_bytes},
    {{"deterministic", "UNISONO_DETERMINISTIC", "", kFlag, true,
      "Same inputs give the same bits in every run, whatever the timing."},
     &Options::deterministic},
    {{"keep_inputs", "UNISONO_KEEP_INPUTS", "", kFlag, false,
      "Whether an operation that fails leaves its output as it was; otherwise the output is "
      "undefined then. Costs a copy of every large tensor."},
     &Options::keep_inputs},
    {{"fuse_groups", "UNISONO_FUSE_GROUPS", "", kFlag, true,
      "Whether a group may share a bucket with other tensors."},
     &Options::fuse_groups},
    {{"join_divisor", "UNISONO_JOIN_DIVISOR", "", one_of(kJoinDivisorChoices), true,
      "What an average divides by after ranks have joined."},
     &Options::join_divisor},
    {{"emulate", "UNISONO_EMULATE", "", kWire, true,
      "A slower network on top of the one that is there, for experiments: each bucket ends alpha "
      "later, and beta later for each of its bytes; those behind it wait (alpha=0.5ms,beta=8ns). "
      "Persistent operations are not held back."},
     &Options::emulate},
    {{"heartbeat_s", "UNISONO_HEARTBEAT_S", "", kSeconds, true,
      "How often a rank shows its peers that it is alive."},
     &Options::heartbeat_s},
    {{"suspect_s", "UNISONO_SUSPECT_S", "", kSeconds, true,
      "Silence after which a peer is suspected, and logged."},
     &Options::suspect_s},
    {{"dead_s", "UNISONO_DEAD_S", "", kSeconds, true,
      "Silence after which a peer is lost."},
     &Options::dead_s},
    {{"join_timeout_s", "UNISONO_JOIN_TIMEOUT_S", "", kSeconds, false,
      "How long joining waits for all ranks to come."},
     &Options::join_timeout_s},
    {{"stall_warning_s", "UNISONO_STALL_WARNING_S", "HOROVOD_STALL_CHECK_TIME_SECONDS",
      kSeconds, true,
      "After this long, say which ranks hold up a tensor; 0 never does."},
     &Options::stall_warning_s},
    {{"stall_limit_s", "UNISONO_STALL_LIMIT_S", "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS",
      kSeconds, true,
      "After this long, a tensor that some ranks never submitted fails; 0 never does."},
     &Options::stall_limit_s},
    {{"spin_us", "UNISONO_SPIN_US", "", kMicrosecondsOrAuto, false,
      "How long a thread that waits, or moves data, looks again before it sleeps. auto: by the "
      "cores it may use."},
     &Options::spin_us},
    {{"io_threads", "UNISONO_IO_THREADS", "", count_or_auto(0, 8), false,
      "How many threads move data over TCP beside the engine's. auto: one for each connection "
      "but the first, where there are 4 cores for each rank of this host, and a core for each thread; "
      "else 0, and also with cpu_sets. The cores a rank may use count as shared by its host's ranks."},
     &Options::io_threads},
    {{"congestion", "UNISONO_CONGESTION", "", one_of(kCongestionChoices), false,
      "How TCP finds out how fast it may send. What this system does not offer stays as the system "
      "has it."},
     &Options::congestion},
    {{"cpu_sets", "UNISONO_CPU_SETS", "", kCpuSets, false,
      "CPUs apart for the engine's threads, the input pipeline and the compute. 0.25: a quarter "
      "of this rank's cores for the first two; engine=0-1;input=2-3;compute=4-15: these very "
      "CPUs. The engine binds its own threads; the other sets are for the program to use "
      "(placement(), bind_compute(), bind_input())."},
     &Options::cpu_sets},
    {{"bind_compute", "UNISONO_BIND_COMPUTE", "", kFlag, false,
      "Whether joining calls bind_compute(): the program's threads get cpu_sets' compute CPUs."},
     &Options::bind_compute},
    {{"timeline", "UNISONO_TIMELINE", "HOROVOD_TIMELINE", kFileOrDynamic, false,
      "Where rank 0 writes a timeline for chrome://tracing or Perfetto; rank 3 writes beside it "
      "(run.json, run.3.json). DYNAMIC: nowhere until start_timeline() is called."},
     &Options::timeline},
    {{"timeline_mark_cycles", "UNISONO_TIMELINE_MARK_CYCLES", "HOROVOD_TIMELINE_MARK_CYCLES",
      kFlag, false,
      "Whether the timeline marks where rounds of negotiation begin."},
     &Options::timeline_mark_cycles},
    {{"trace", "UNISONO_TRACE", "", kFile, false,
      "Where rank 0 writes a trace: a slice for each bucket with all its tensors, for Perfetto and "
      "for `unisono trace`; rank 3 writes beside it (run.json, run.3.json). `unisono run --trace` "
      "makes one file of them."},
     &Options::trace},
    {{"log", "UNISONO_LOG", "HOROVOD_LOG_LEVEL", one_of(kLogChoices), false,
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

std::vector<std::string_view> names_of(std::span<const OptionChoice> choices) {
  std::vector<std::string_view> names;
  for (const OptionChoice& choice : choices) names.push_back(choice.name);
  return names;
}

std::string allowed_text(const OptionKind& kind) {
  switch (kind.form) {
    case OptionForm::bytes: return "a whole number, with K, M, G or T for powers of 1024";
    case OptionForm::flag: return "1, 0, true, false, yes, no, on, off";
    case OptionForm::seconds: return cat("a number of seconds from 0 to ", kSecondsMax);
    case OptionForm::milliseconds: return "a number of milliseconds from 0.001 to 60000";
    case OptionForm::count: return cat("a whole number from ", kind.least, " to ", kCountMax);
    case OptionForm::count_or_auto:
      return cat("a whole number from ", kind.least, " to ", kind.most, ", or auto");
    case OptionForm::microseconds_or_auto:
      return "a number of microseconds from 0 to 1000000, or auto";
    case OptionForm::file: return "the name of a file";
    case OptionForm::file_or_dynamic: return "the name of a file, or DYNAMIC";
    case OptionForm::cpu_sets:
      return "off, a fraction of the cores between 0 and 1, or lists that do not overlap, such as "
             "engine=0-1;input=2-3;compute=4-15, where only input may be empty";
    case OptionForm::wire:
      return "off, or alpha=TIME,beta=TIME or one of the two; a TIME is from 0 to 60s and ends in s, "
             "ms, us or ns";
    case OptionForm::codec: return "none, fp16, bf16 or a composition such as ef|topk:512:4|qsgd:4";
    case OptionForm::codec_rules: return "PATTERN=CODEC, separated by commas";
    case OptionForm::plan_codecs: return "none, or fp16, bf16, fp8 and qsgd, separated by commas";
    case OptionForm::choices:
      return cat("one or more of ", join_text(names_of(kind.choices)), ", separated by commas");
    case OptionForm::choice: break;
  }
  return join_text(names_of(kind.choices));
}

bool names_codecs(const OptionKind& kind) {
  return kind.form == OptionForm::codec || kind.form == OptionForm::codec_rules ||
         kind.form == OptionForm::plan_codecs;
}

// Codecs say themselves what is wrong with them, and where.
Status check_codecs(const OptionKind& kind, std::string_view text) {
  if (kind.form == OptionForm::plan_codecs) return parse_plan_codecs(text).status();
  return kind.form == OptionForm::codec ? parse_codec(text).status()
                                        : CodecRules::parse(text).status();
}

// One overload per type of member: true when the text is allowed and was stored.
bool store(std::string& field, const OptionKind& kind, std::string_view text) {
  if (kind.form == OptionForm::cpu_sets) {
    if (!parse_cpu_request(text)) return false;
  } else if (kind.form == OptionForm::wire) {
    if (!parse_emulated_wire(text)) return false;
  } else if (names_codecs(kind)) {
    if (!check_codecs(kind, text).ok()) return false;
    // One text for one codec, since ranks compare it.
    if (kind.form == OptionForm::codec) {
      field = parse_codec(text).value().text();
      return true;
    }
  } else if (kind.form == OptionForm::choices) {
    const auto names = split_list(text);
    const bool known = std::all_of(names.begin(), names.end(), [&](std::string_view name) {
      return find_row(kind.choices, name) != nullptr;
    });
    if (!known) return false;
  } else if (kind.form != OptionForm::file && kind.form != OptionForm::file_or_dynamic &&
             find_row(kind.choices, text) == nullptr) {
    return false;
  }
  field = text;
  return true;
}
bool store(std::int64_t& field, const OptionKind& kind, std::string_view text) {
  const bool may_be_auto = kind.form == OptionForm::count_or_auto;
  if (may_be_auto && text == "auto") {
    field = -1;
    return true;
  }
  const auto number = parse_bytes(text);
  if (!number) return false;
  if (may_be_auto && (*number < kind.least || *number > kind.most)) return false;
  if (kind.form == OptionForm::count && (*number < kind.least || *number > kCountMax)) return false;
  field = *number;
  return true;
}
bool store(bool& field, const OptionKind&, std::string_view text) {
  const auto flag = parse_flag(text);
  if (flag) field = *flag;
  return flag.has_value();
}
bool store(double& field, const OptionKind& kind, std::string_view text) {
  const bool may_be_auto = kind.form == OptionForm::microseconds_or_auto;
  if (may_be_auto && (text == "auto" || parse_number(text) == -1.0)) {
    field = -1;
    return true;
  }
  const double least = kind.form == OptionForm::milliseconds ? 0.001 : 0;
  const double most = kind.form == OptionForm::milliseconds ? 60000
                      : may_be_auto                         ? 1e6
                                                            : kSecondsMax;
  const auto number = parse_number(text);
  if (!number || *number < least || *number > most) return false;
  field = *number;
  return true;
}

std::string text_of(const Options& options, const Entry& entry) {
  return std::visit(
      [&](auto member) {
        const auto& field = options.*member;
        const bool may_be_auto = entry.row.kind.form == OptionForm::microseconds_or_auto ||
                                 entry.row.kind.form == OptionForm::count_or_auto;
        std::string text = cat(field);
        return may_be_auto && text.starts_with('-') ? std::string("auto") : text;
      },
      entry.member);
}

// What the option is for, and each choice with its sentence.
std::string meaning_of(const OptionRow& row) {
  std::vector<std::string> choices;
  for (const OptionChoice& choice : row.kind.choices) {
    if (!choice.about.empty()) choices.push_back(cat(choice.name, ": ", choice.about));
  }
  if (choices.empty()) return std::string(row.help);
  return cat(row.help, " ", join_text(choices, "; "), ".");
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
  const OptionKind& kind = entry->row.kind;
  const auto store_value = [&](auto member) { return store(options.*member, kind, value); };
  if (std::visit(store_value, entry->member)) return {};
  if (names_codecs(kind)) {
    return {Code::invalid_argument,
            cat("option ", entry->row.key, where, ": ", check_codecs(kind, value).message())};
  }
  const std::string_view close = nearest(value, names_of(kind.choices));
  return {Code::invalid_argument,
          cat("option ", entry->row.key, where, ": \"", value, "\" is not allowed; allowed: ",
              allowed_text(kind), close.empty() ? "" : cat("; did you mean ", close, "?"))};
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
  if (encrypt && integrity != "auth") {
    return {Code::invalid_argument,
            cat("encrypt needs integrity=auth, since only its keys can encrypt; got integrity=",
                integrity)};
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

std::string kind_text(const OptionKind& kind) {
  switch (kind.form) {
    case OptionForm::bytes: return "bytes";
    case OptionForm::flag: return "flag";
    case OptionForm::seconds: return "seconds";
    case OptionForm::milliseconds: return "milliseconds";
    case OptionForm::count: return cat("a count from ", kind.least);
    case OptionForm::count_or_auto: return cat(kind.least, " to ", kind.most, ", or auto");
    case OptionForm::microseconds_or_auto: return "microseconds or auto";
    case OptionForm::file: return "a file";
    case OptionForm::file_or_dynamic: return "a file, or DYNAMIC";
    case OptionForm::cpu_sets: return "off, a fraction or lists";
    case OptionForm::wire: return "off, or alpha=TIME,beta=TIME";
    case OptionForm::codec: return "a codec";
    case OptionForm::codec_rules: return "PATTERN=CODEC,...";
    case OptionForm::plan_codecs: return "a list of codecs";
    case OptionForm::choices:
      return cat("a list of ", join_text(names_of(kind.choices), "|"));
    case OptionForm::choice: break;
  }
  return cat("one of ", join_text(names_of(kind.choices), "|"));
}

std::string option_table_markdown() {
  const Options defaults;
  std::string text =
      "| option | variable | also read from | value | default | same on all ranks | meaning |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n";
  for (const Entry& entry : kEntries) {
    const OptionRow& row = entry.row;
    const auto choices = names_of(row.kind.choices);
    std::string value = text_of(defaults, entry);
    if (row.kind.form == OptionForm::bytes) value = format_bytes(std::stoll(value));
    append_text(text, cat("| `", row.key, "` | `", row.variable, "` | ",
                          row.alias.empty() ? "" : cat("`", row.alias, "`"), " | ",
                          choices.empty() ? kind_text(row.kind)
                                          : cat("`", join_text(choices, "`, `"), "`"),
                          " | `", value, "` | ", row.agreed ? "yes" : "no", " | ", meaning_of(row),
                          " |\n"));
  }
  return text;
}

}  // namespace unisono
