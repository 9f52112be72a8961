// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "study/arguments.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <regex>
#include <utility>

#include "base/data/text.hpp"
#include "command_line.hpp"
#include "exit_codes.hpp"
#include "model/options/option_values.hpp"
#include "simulate/arguments.hpp"
#include "study/report.hpp"

namespace unisono::tools {
namespace {

constexpr const char* kFooter =
    R"(weak: every rank has a batch of its own. strong: --global-batch is divided among the ranks.
time-to-solution: seconds to --samples; with --critical-batch B, a batch of B needs twice as many.

Without a program, all options of `unisono simulate` for one order, pacing and planner are
understood (--model, --trace, --network, --planner, --jitter, ...). With a program after --, each
size runs `unisono run -np N PROGRAM`. The last line of its output that says "throughput: X", or
"time to solution: X" in seconds, counts; --pattern takes another, with the figure in parentheses.
{ranks} in its arguments becomes the number of ranks, {batch} the share of a rank in --global-batch.

Examples:
  unisono study weak --model resnet50 --network 25gbe --ranks 1,8,64,512 --plot weak.svg
  unisono study strong --model resnet50 --network 100gbe --ranks 8,32,128 --global-batch 8192
  unisono study time-to-solution --model resnet50 --network 10gbe --ranks 1,16,256 \
      --samples 115e6 --critical-batch 16384 --json -
  unisono study weak --model bert --network infiniband-hdr --ranks 8,64 --planner merged
  unisono study strong --ranks 1,2 --global-batch 512 -- python train.py --batch {batch}
  unisono study weak --ranks 1,2 --pattern 'images/s: ([0-9.]+)' -- ./my_program

Exit codes: 0 success; 1 a job failed; 2 wrong usage; 3 the machine lacks something.)";

Status wrong(std::string message) { return Status(Code::invalid_argument, std::move(message)); }

void describe(CLI::App& app, ScalingSettings& s) {
  app.name("unisono study");
  app.description(
      "Follows one figure over several numbers of ranks: median, central 68 % and efficiency.\n"
      "  unisono study weak|strong|time-to-solution --ranks LIST SIMULATE-OPTIONS...\n"
      "  unisono study weak|strong|time-to-solution --ranks LIST [options] -- PROGRAM ARGS...");
  app.footer(kFooter);
  app.allow_extras();
  app.add_option("--ranks", s.ranks, "the sizes, as 1,8,64; efficiency is against the first")
      ->delimiter(',')
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--runs,--seeds", s.runs, "of each size: seeds, or repetitions of the program")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app.add_option("--global-batch", s.global_batch, "samples of a step over all ranks")
      ->check(CLI::PositiveNumber);
  app.add_option("--samples", s.samples, "to the solution with small batches")
      ->check(CLI::PositiveNumber);
  app.add_option("--critical-batch", s.critical_batch, "the batch that needs twice as many")
      ->check(CLI::PositiveNumber);
  app.add_option("--pattern", s.pattern, "regular expression of what the program prints");
  app.add_option("--timeout", s.timeout_s, "seconds of one run of the program")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--plot", s.plot, "draw it as FILE.svg");
  app.add_option("--json", s.json, "write the results as JSON to FILE, or - for standard output");
  app.add_flag("-q,--quiet", s.quiet, "no progress bar");
}

Status read_kind(const std::string& word, ScalingKind& kind) {
  std::vector<std::string_view> known;
  for (const ScalingKind each :
       {ScalingKind::weak, ScalingKind::strong, ScalingKind::time_to_solution}) {
    known.push_back(kind_name(each));
    if (word == kind_name(each)) {
      kind = each;
      return {};
    }
  }
  const std::string_view near = nearest(word, known);
  return wrong(near.empty() ? cat("no study \"", word, "\"; one of ", join_text(known))
                            : cat("no study \"", word, "\"; did you mean ", near, "?"));
}

Status check_program(const std::vector<std::string>& extras, ScalingSettings& s) {
  if (!extras.empty()) {
    return wrong(cat(extras.front(), ": a program is not simulated; its own arguments stand ",
                     "behind it"));
  }
  if (s.samples > 0 || s.critical_batch > 0) {
    return wrong("--samples and --critical-batch are for the simulator: a program says its time");
  }
  if (s.kind == ScalingKind::weak && s.global_batch > 0) {
    return wrong("with --global-batch it is strong scaling: unisono study strong");
  }
  for (const std::string& word : s.program) {
    if (s.global_batch == 0 && word.find("{batch}") != word.npos) {
      return wrong(cat(word, ": give --global-batch N, of which {batch} is a share"));
    }
  }
  if (s.pattern.empty()) {
    constexpr const char* kNumber = R"(:\s*([0-9.eE+-]+))";
    s.pattern = cat(is_time(s) ? "time to solution" : "throughput", kNumber);
  }
  try {
    if (std::regex(s.pattern).mark_count() == 0) {
      return wrong(cat("--pattern ", s.pattern,
                       ": put the figure in parentheses, as 'rate: (.*)'"));
    }
  } catch (const std::regex_error& error) {
    return wrong(cat("--pattern ", s.pattern, ": ", error.what()));
  }
  return {};
}

Status check_simulated(ScalingSettings& s) {
  if (!s.pattern.empty()) return wrong("--pattern is for a program, which stands after --");
  const SimulateSettings& of = s.simulated;
  if (!of.study.empty() || of.list) return wrong("--study and --list belong to unisono simulate");
  const bool timeline = of.engine == SimulateEngine::timeline;
  if (of.planners.size() > 1 || (!timeline && (of.orders.size() > 1 || of.pacings.size() > 1))) {
    return wrong("a study follows one order, one pacing and one planner; name one of each");
  }
  if (s.kind == ScalingKind::strong && s.global_batch == 0) {
    return wrong("strong scaling divides a batch among the ranks: give --global-batch N");
  }
  if (s.kind == ScalingKind::weak && s.global_batch > 0) {
    return wrong("with --global-batch it is strong scaling: unisono study strong");
  }
  if (!is_time(s)) {
    if (s.samples == 0 && s.critical_batch == 0) return {};
    return wrong("--samples and --critical-batch belong to unisono study time-to-solution");
  }
  if (s.samples == 0) return wrong("how many samples to the solution? Give --samples N");
  if (of.base.workload.batch == 0) {
    return wrong(cat("of how many samples is the compute of ", of.base.workload.name,
                     "? Give --batch N"));
  }
  return {};
}

// The options that are not the study's own are the simulator's.
int read_simulated(std::vector<std::string> extras, ScalingSettings& s) {
  if (s.global_batch > 0) {
    extras.insert(extras.end(), {"--global-batch", std::to_string(s.global_batch)});
  }
  SimulateArguments parsed = parse_simulate_arguments(std::move(extras));
  s.simulated = std::move(parsed.settings);
  s.simulated.seeds = s.runs;
  return parsed.exit_code;
}

int usage(const std::string& message) {
  std::cerr << "unisono study: " << message << "\nTry: unisono study --help\n";
  return kWrongUsage;
}

}  // namespace

ScalingArguments parse_study_arguments(std::vector<std::string> arguments) {
  ScalingArguments out;
  ScalingSettings& s = out.settings;
  s.command = cat("unisono study ", join_text(arguments, " "));
  const auto mark = std::find(arguments.begin(), arguments.end(), "--");
  const bool program = mark != arguments.end();
  if (program) s.program.assign(mark + 1, arguments.end());
  arguments.erase(mark, arguments.end());
  CLI::App app;
  describe(app, s);
  std::string kind;
  if (!arguments.empty() && !arguments.front().starts_with("-")) {
    kind = arguments.front();
    arguments.erase(arguments.begin());
  }
  if (const auto over = read_command_line(app, std::move(arguments))) {
    out.exit_code = *over;
    return out;
  }
  const auto refuse = [&](const Status& bad) {
    out.exit_code = usage(bad.message());
    return out;
  };
  if (kind.empty()) return refuse(wrong("which study? weak, strong or time-to-solution"));
  if (Status bad = read_kind(kind, s.kind); !bad.ok()) return refuse(bad);
  if (program && s.program.empty()) return refuse(wrong("which program? Write it after --"));
  if (program) {
    if (Status bad = check_program(app.remaining(), s); !bad.ok()) return refuse(bad);
    return out;
  }
  out.exit_code = read_simulated(app.remaining(), s);
  if (out.exit_code >= 0) return out;
  if (Status bad = check_simulated(s); !bad.ok()) return refuse(bad);
  return out;
}

}  // namespace unisono::tools
