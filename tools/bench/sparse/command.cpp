// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/sparse/command.hpp"

#include <iostream>
#include <optional>

#include "base/data/text.hpp"
#include "bench/ranks/lanes.hpp"
#include "bench/ranks/own_ranks.hpp"
#include "bench/sparse/arguments.hpp"
#include "bench/sparse/report.hpp"
#include "bench/sparse/turns.hpp"
#include "exit_codes.hpp"

namespace unisono::tools {
namespace {

constexpr int kSparseRanksHere = 2;

void complain_of_sparse(const std::string& message) { complain_about("sparse", message); }

int deliver_sparse(const SparseBenchSettings& settings, const SparseBenchResults& results) {
  const Machine machine = this_machine();
  bool written = true;
  const std::string json = settings.json.empty() ? "" : sparse_json(settings, machine, results);
  if (settings.json == "-") {
    std::cout << json << std::flush;
  } else {
    std::cout << sparse_table(settings, machine, results) << std::flush;
    if (!json.empty()) written = write_whole("sparse", settings.json, json);
  }
  if (!settings.plot.empty()) {
    written = write_whole("sparse", settings.plot, sparse_svg(machine, results)) && written;
  }
  return written ? kSuccess : kJobFailed;
}

int serve_sparse_rank(const SparseBenchSettings& settings) {
  auto base = options_with(settings.options);
  if (!base) {
    complain_of_sparse(base.status().message());
    return kWrongUsage;
  }
  auto engine = Engine::join(*base);
  if (!engine) {
    complain_of_sparse(engine.status().to_string());
    return kJobFailed;
  }
  const bool reports = engine->rank() == 0;
  if (settings.ranks > 0 && settings.ranks != engine->size()) {
    if (reports) {
      complain_of_sparse(cat("-np ", settings.ranks, ", but the launcher has started ",
                             engine->size(), "; leave -np out"));
    }
    return kWrongUsage;
  }
  std::optional<SparseBenchResults> results;
  {
    RankProgress shown(reports, settings.lines, settings.quiet);
    const SparseProgress progress = [&](double done, const std::string& now) {
      shown.show(done, now);
    };
    auto measured = measure_sparse(settings, *base, *engine, lanes_of_job(*engine), progress);
    if (!measured) {
      const bool usage = measured.status().code() == Code::invalid_argument;
      if (reports || !usage) complain_of_sparse(measured.status().to_string());
      return usage ? kWrongUsage : kJobFailed;
    }
    results = std::move(*measured);
  }
  if (!reports) return kSuccess;
  if (!settings.lines) return deliver_sparse(settings, *results);
  say_results(*results);
  return kSuccess;
}

int start_sparse_ranks(const SparseBenchSettings& settings,
                       const std::vector<std::string>& arguments) {
  if (auto options = options_with(settings.options); !options) {
    complain_of_sparse(options.status().message());
    return kWrongUsage;
  }
  const int ranks = settings.ranks > 0 ? settings.ranks : kSparseRanksHere;
  const OwnRanks done = run_own_ranks("sparse", ranks, settings.quiet, arguments);
  if (!done.results) return done.exit_code;
  return deliver_sparse(settings, done.results->get<SparseBenchResults>());
}

}  // namespace

int bench_sparse_command(std::vector<std::string> arguments) {
  const SparseArguments parsed = parse_sparse_arguments(arguments);
  if (parsed.exit_code >= 0) return parsed.exit_code;
  auto rank = started_as_rank();
  if (!rank) {
    complain_of_sparse(rank.status().message());
    return kWrongUsage;
  }
  try {
    return *rank ? serve_sparse_rank(parsed.settings)
                 : start_sparse_ranks(parsed.settings, arguments);
  } catch (const std::bad_alloc&) {
    complain_of_sparse("not enough memory for the vectors; give shorter ones, or --dense none");
    return kMachineLacks;
  }
}

}  // namespace unisono::tools
