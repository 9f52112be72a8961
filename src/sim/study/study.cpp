// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/study/study.hpp"

#include <algorithm>
#include <array>

#include "base/data/text.hpp"
#include "order/pacing/pacing.hpp"
#include "sim/study/bench.hpp"

namespace unisono::sim {
namespace {

constexpr double kOversleepAtMs = 200;
constexpr double kCycleMs = 5;
// One thread that once wakes 10 ms late.
void oversleep(StudyBench& bench) {
  struct Case {
    const char *order, *pacing;
    double low, high;                   // share of following rounds in which the other waits, in %
  };
  constexpr Case kCases[] = {{"cache", "cycle", 90, 100}, {"cache", "gs", 0, 1},
                             {"cache", "nbcs", 0, 100},   {"cache", "event", 0, 0},
                             {"topo", "event", 0, 0}};
  for (const Case& each : kCases) {
    SimSettings s = oversleep_settings(each.order, each.pacing);
    bench.vary_parameter(s);
    auto result = simulate(s);
    if (!result.ok() || !result->failure.ok()) {
      bench.status = result.ok() ? result->failure : result.status();
      return;
    }
    const OversleepVerdict verdict = judge_oversleep(result.value());
    const std::string note =
        verdict.rounds == 0
            ? "no rounds: nothing to wait for"
            : cat(verdict.waited, " of ", verdict.rounds, " rounds; recovered after ",
                  verdict.until_recovered, "; its thread ",
                  order::find_pacing(each.pacing)->spins ? "spun " : "slept in rounds ",
                  static_cast<int>(100 * verdict.time_in_rounds + 0.5), " % of the time");
    bench.row(cat("other rank waits: ", each.order, ", ", each.pacing), "%", each.low, each.high,
              100 * verdict.share(), note);
    bench.study.runs.push_back({cat(each.order, " ", each.pacing), s.ranks, s.order, s.pacing,
                                s.planner, std::move(result.value())});
  }
}

// Negotiation time of live ranks that share two cores, medians of bench_control.
void live(StudyBench& bench) {
  struct Case {
    int ranks;
    const char* order;
    double live_ms;
  };
  constexpr Case kCases[] = {{2, "coordinator", 1.25}, {2, "tree", 1.25}, {2, "cache", 1.03},
                             {4, "coordinator", 3.02}, {4, "tree", 3.36}, {4, "cache", 3.10},
                             {8, "coordinator", 5.28}, {8, "tree", 5.62}, {8, "cache", 6.85}};
  for (const Case& each : kCases) {
    const std::string name = cat(each.ranks, " ranks, ", each.order);
    SimSettings s = two_cores_settings(each.order, each.ranks);
    s.iterations = 200;
    const SimResult result = bench.run_as_is(name, s);
    bench.row(name, "ms", each.live_ms, each.live_ms, result.negotiation_ms);
  }
}

struct Entry {
  StudyTable table;
  void (*run)(StudyBench&);
  int runs;
};
constexpr Entry kStudies[] = {
    {{"paper000", "caching and grouping in Horovod: Summit, up to 27,600 GPUs"}, study_paper000, 7},
    {{"paper000-further", "groups with and without a cache, algorithms, two more models: Summit"},
     study_paper000_further, 17},
    {{"paper001", "GS, NBCS, SCP, TOPO against load imbalance: Summit, 96 to 24,576 GPUs"},
     study_paper001, 20},
    {{"paper001-models", "TOPO for eight other networks, 96 to 24,576 GPUs"},
     study_paper001_models, 72},
    {{"paper001-strong", "TOPO with a global batch of 24,576"}, study_paper001_strong, 10},
    {{"paper002", "HEP-CNN and CosmoGAN on 2,048 KNL nodes; time to a loss"}, study_paper002, 13},
    {{"paper003", "merged, wfbp and single: 8 and 64 nodes with K80s over 10GbE", false, false},
     study_paper003, 0},
    {{"live", "negotiation time of 2, 4 and 8 live ranks that share two cores", true, false}, live,
     9},
    {{"oversleep", "one thread wakes 10 ms late once: who waits afterwards", false, false},
     oversleep, 5},
};

}  // namespace

std::span<const StudyTable> study_table() {
  static const std::array<StudyTable, std::size(kStudies)> kRows = [] {
    std::array<StudyTable, std::size(kStudies)> rows;
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = kStudies[i].table;
    return rows;
  }();
  return kRows;
}

double StudyRow::error() const {
  if (!published || fitted || (simulated >= low && simulated <= high)) return 0;
  const double nearer = simulated < low ? low : high;
  return nearer == 0 ? simulated : simulated / nearer - 1;
}

Result<Study> run_study(std::string_view name, const StudyOptions& options,
                        const StudyProgress& progress) {
  for (const Entry& entry : kStudies) {
    if (entry.table.name != name) continue;
    StudyBench bench(options, progress, entry.runs);
    entry.run(bench);
    if (!bench.status.ok()) return bench.status;
    return std::move(bench.study);
  }
  return Status(Code::invalid_argument,
                cat("no study \"", name, "\"; see unisono simulate --list"));
}

SimSettings summit_settings() {
  SimSettings s;
  s.network = parse_network("summit").value();
  s.warm_up = 1;                        // fills the caches
  s.tuning.cycle = seconds_to_nanos(kCycleMs * 1e-3);
  s.host.ranks_per_host = 6;
  s.host.cores_per_rank = 7;
  s.host.busy_threads = kImagePipeline;
  s.host.window = 0.48;
  s.host.jitter_sigma = 0.01;
  s.host.stall_probability = 3e-4;
  s.host.stall_mean_ms = 15;
  s.host.displaced_per_ms = 1e-6;
  s.host.oversleep_probability = 0.01;
  s.host.oversleep_mean_ms = 6;
  s.host.parse_ns_per_byte = 30;
  return s;
}

SimSettings two_cores_settings(const char* order, int ranks) {
  SimSettings s;
  s.workload.name = "control";
  s.workload.compute_us = 1;            // none: everything is submitted as fast as it can be
  for (int i = 0; i < 161; ++i) {
    s.workload.tensors.push_back({cat("layer", i / 3, ".block.conv", i, ".weight"), 64, 1});
  }
  s.network = parse_network("alpha=0.000001,beta=0.00000000002").value();
  s.network.overhead_us = 2;
  s.network.local_latency_us = 0.2;
  s.order = order;
  s.ranks = ranks;
  s.host.ranks_per_host = 8;
  s.host.shared_cores = 2;
  s.host.slice_us = 200;
  s.host.switch_us = 3;
  s.host.look_us = 3;
  s.host.ring_us = 4;
  s.host.wake_us = 3;
  s.host.negotiate_us = 0.3;
  s.host.parse_ns_per_byte = 4;
  return s;
}

SimSettings oversleep_settings(const char* order, const char* pacing) {
  SimSettings s;
  s.workload = make_workload("tiny").value();
  s.network = parse_network("infiniband-edr").value();
  s.ranks = 2;
  s.iterations = 100;
  s.order = order;
  s.pacing = pacing;
  s.keep_rounds = true;
  s.tuning.cycle = seconds_to_nanos(kCycleMs * 1e-3);
  s.host.jitter_sigma = 0;
  s.host.timer_slack_us = 0;
  s.faults.oversleeps = {{1, kOversleepAtMs, 10}};
  return s;
}

OversleepVerdict judge_oversleep(const SimResult& result) {
  OversleepVerdict verdict;
  bool seen = false;                    // the round in which the thread was late
  double first_ms = 0, last_ms = 0, in_rounds_ms = 0;
  for (const RoundSample& round : result.rounds) {
    if (round.rank != 0 || round.at_ms < kOversleepAtMs - kCycleMs) continue;
    const bool waited = round.waited_ms > kCycleMs / 10;
    if (!seen) {
      seen = waited && round.waited_ms > kCycleMs;
      first_ms = round.at_ms + round.waited_ms;
      continue;
    }
    in_rounds_ms += round.waited_ms;
    last_ms = round.at_ms + round.waited_ms;
    verdict.time_in_rounds = in_rounds_ms / (last_ms - first_ms);
    ++verdict.rounds;
    if (!waited) continue;
    ++verdict.waited;
    verdict.until_recovered = verdict.rounds;
  }
  return verdict;
}

}  // namespace unisono::sim
