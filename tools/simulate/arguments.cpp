// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Long because every option of the command stands here once, with its sentence and its examples.
#include "simulate/arguments.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <utility>

#include "base/data/text.hpp"
#include "between.hpp"
#include "command_line.hpp"
#include "exit_codes.hpp"
#include "model/options/emulated_wire.hpp"
#include "model/options/option_values.hpp"
#include "order/pacing/pacing.hpp"
#include "plan/planner.hpp"
#include "sim/study/study.hpp"
#include "sim/timeline/timeline_step.hpp"
#include "simulate/fault_options.hpp"
#include "simulate/measured_network.hpp"
#include "simulate/option_sense.hpp"
#include "simulate/trace.hpp"

namespace unisono::tools {
namespace {

constexpr const char* kFooter =
    R"(Orders: coordinator, tree, cache, topo, auto. Pacings: event, cycle, gs, nbcs. Lists and "all"
give one row per combination. A trace is {"tensors":[{"name":…,"bytes":…,"ready_us":…},…]},
optionally with "forward_us" in each, and "compute_us" and "forward_us" of the step. A network by
parameters: alpha=SECONDS,beta=SECONDS_PER_BYTE; one of yours: measured, or measured:FILE, which
`unisono doctor -H HOST,... --costs [FILE]` makes. The same seed gives the same run.

Two engines. Events: the real orders, pacings and planners, with noise and faults; planners of a
whole iteration (merged, merged-greedy, priority) arrange the plans of --order topo or auto.
Timeline: all ready times are known beforehand; closed forms, no agreement, no noise, no faults. A
planner of an iteration, or --planner all, without an option of the events, is played on a timeline.

Examples:
  unisono simulate --model resnet50 --ranks 64 --network 10gbe --order all
  unisono simulate --model resnet50 --ranks 1000 --network infiniband-edr --ranks-per-host 8 \
      --order cache --pacing all --cycle-ms 5
  unisono simulate --model resnet50 --ranks 8,64,512 --network 25gbe --planner all --plot plan.svg
  unisono simulate --trace step.json --ranks 64 --network 10gbe --planner wfbp,merged --json -
  unisono simulate --model resnet50 --ranks 8,32,128 --global-batch 8192 --seeds 9
  unisono simulate --model tiny --ranks 16 --network 100gbe --kill 3@50
  unisono simulate --study oversleep            # or live: beside ranks measured on two cores
  unisono simulate --study paper001 --json errors.json
  unisono simulate --study paper003             # planners of a whole iteration, at once

Exit codes: 0 success; 1 a simulated job failed; 2 wrong usage; 3 the machine lacks something.)";

struct Line {
  std::string model, trace, network = "10gbe", emulate = "off", device, granularity = "tensors";
  std::vector<std::string> stragglers, kills, partitions;
  std::string fusion_bytes = "64M", engine = "auto";
  double compute_ms = 0, cycle_ms = 1, batch = 0, codec_ns = -1;
  bool at_end = false;
  std::vector<int> hosts;
  int nics = 0, hosts_per_switch = 0;
  double oversubscription = 0, spine_us = -1;
  std::string data_queue;
};

void describe_job(CLI::App& app, Line& line, SimulateSettings& s) {
  app.add_option("--model", line.model, "a workload of --list");
  app.add_option("--trace", line.trace, "a workload recorded as FILE.json");
  app.add_option("--device", line.device, "whose compute time of the model (--list)");
  app.add_option("--granularity", line.granularity, "hand over a model's tensors, or its layers")
      ->check(CLI::IsMember({"tensors", "layers"}))
      ->capture_default_str();
  app.add_option("--compute-ms", line.compute_ms, "compute of a step, instead of the model's own")
      ->check(between(0, 1e8));
  app.add_flag("--at-end", line.at_end, "all tensors at the end of compute (a compiled step)");
  app.add_option("--ranks", s.ranks, "how many; several as 8,64,512")
      ->delimiter(',')
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--network", line.network, "a network of --list, alpha=…,beta=…, or measured")
      ->capture_default_str();
  app.add_option("--emulate", line.emulate,
                 "alpha=0.5ms,beta=8ns: on top for each collective, as `unisono bench step` emulates it");
  app.add_option("--order", s.orders, "strategies, or all")->delimiter(',')->capture_default_str();
  app.add_option("--pacing", s.pacings, "pacings, or all")->delimiter(',')->capture_default_str();
  app.add_option("--planner", s.planners, "planners, or all")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--plan-codecs", s.base.plan_codecs, "that plans may choose: fp16,bf16")
      ->capture_default_str();
  app.add_option("--codec-ns", line.codec_ns, "to encode and decode a byte, in ns (default 0.25)")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--engine", line.engine, "events, timeline, or auto: what the planners need")
      ->check(CLI::IsMember({"auto", "events", "timeline"}))
      ->capture_default_str();
  app.add_option("--iterations", s.base.iterations, "steps to measure, after those to settle")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--seed", s.base.seed, "of all noise")->capture_default_str();
  app.add_option("--seeds", s.seeds,
                 "simulate with so many seeds, from --seed on: median and central 68 %")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app.add_option("--global-batch", s.global_batch,
                 "samples of a step over all ranks: compute shrinks as ranks grow")
      ->check(CLI::PositiveNumber);
  app.add_option("--batch", line.batch, "samples of a rank that the compute is of (--list)")
      ->check(CLI::PositiveNumber);
  app.add_option("--fixed-share", s.fixed_share,
                 "of that compute, what --global-batch does not shrink")
      ->check(between(0, 1))
      ->capture_default_str();
  app.add_option("--cycle-ms", line.cycle_ms, "of the pacings cycle, gs and nbcs")
      ->check(between(1e-6, 1e8))
      ->capture_default_str();
  app.add_option("--radix", s.base.tuning.tree_radix, "children of a node of the tree")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--groups", s.base.groups, "submit the tensors as this many groups")
      ->check(CLI::Range(0, 1'000'000));
  app.add_option("--fusion-bytes", line.fusion_bytes, "of the planner threshold")
      ->capture_default_str();
}

void describe_hosts(CLI::App& app, Line& line, SimulateSettings& s) {
  sim::HostModel& host = s.base.host;
  app.add_option("--ranks-per-host", host.ranks_per_host, "ranks that share an adapter")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--hosts", line.hosts, "how many, of --ranks-per-host each, instead of --ranks")
      ->delimiter(',')
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--nics", line.nics, "adapters of a host, among which its ranks are divided")
      ->check(CLI::Range(1, 64));
  app.add_option("--hosts-per-switch", line.hosts_per_switch,
                 "two levels: so many hosts to a switch; without it all are on one")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--oversubscription", line.oversubscription,
                 "adapters below a switch over its link upwards, as 4")
      ->check(CLI::Range(1.0, 1000.0));
  app.add_option("--spine-us", line.spine_us, "longer from switch to switch")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--data-queue", line.data_queue,
                 "bytes of data before a control message in an adapter while a bucket runs (64K)");
  app.add_option("--cores-per-rank", host.cores_per_rank, "cores")
      ->check(between(0, 1e5))
      ->capture_default_str();
  app.add_option("--shared-cores", host.shared_cores,
                 "the ranks of a host take turns on so many cores, as on a laptop (event pacing)")
      ->check(CLI::Range(0, 1024));
  app.add_option("--busy-threads", host.busy_threads, "that need them during the window")
      ->check(between(0, 1e5))
      ->capture_default_str();
  app.add_flag("--scp", host.partitioned, "the engine's thread has a core of its own");
  app.add_option("--jitter", host.jitter_sigma, "sigma of the lognormal noise of compute")
      ->check(between(0, 2))
      ->capture_default_str();
  app.add_option("--stall-probability", host.stall_probability, "of a rank in a step")
      ->check(between(0, 1));
  app.add_option("--stall-ms", host.stall_mean_ms, "mean of such a stall")
      ->check(between(0, 1e8));
  app.add_option("--displaced-per-ms", host.displaced_per_ms,
                 "stalls per millisecond that a thread spins while cores are short")
      ->check(between(0, 1e6));
  app.add_option("--oversleep-probability", host.oversleep_probability,
                 "of a thread that spun and then slept")
      ->check(between(0, 1));
  app.add_option("--oversleep-ms", host.oversleep_mean_ms, "mean of such a delay")
      ->check(between(0, 1e8));
  app.add_option("--parse-ns", host.parse_ns_per_byte, "to read a byte of a control message, in ns")
      ->check(between(0, 1e6))
      ->capture_default_str();
  app.add_option("--straggler", line.stragglers, "RANK=FACTOR of its compute time; repeatable")
      ->allow_extra_args(false);
  app.add_option("--kill", line.kills, "RANK@MILLISECONDS; repeatable")->allow_extra_args(false);
  app.add_option("--partition", line.partitions,
                 "RANK@FROM-UNTIL: ranks below RANK and the others lose each other, in ms")
      ->allow_extra_args(false);
  app.add_option("--delay", s.base.faults.delay_probability, "share of messages that are late")
      ->check(between(0, 1));
  app.add_option("--delay-ms", s.base.faults.delay_mean_ms, "by how much on average")
      ->check(between(0, 1e8))
      ->capture_default_str();
  app.add_option("--duplicate", s.base.faults.duplicate_probability, "share that arrive twice")
      ->check(between(0, 1));
  app.add_option("--reorder", s.base.faults.reorder_probability, "share that are overtaken")
      ->check(between(0, 1));
}

void describe(CLI::App& app, Line& line, SimulateSettings& s) {
  app.name("unisono simulate");
  app.description(
      "Predicts training steps elsewhere: the real ordering and planning code under virtual time.\n"
      "  unisono simulate --model NAME | --trace FILE --ranks N --network NAME [options]\n"
      "  unisono simulate --study NAME");
  app.footer(kFooter);
  describe_job(app, line, s);
  describe_hosts(app, line, s);
  app.add_option("--study", s.study, "published figures beside simulated ones (see --list)");
  app.add_option("--study-scale", s.study_scale, "share of a study's ranks, for a quick look")
      ->check(CLI::Range(0.0001, 1.0));
  app.add_flag("--sensitivity", s.sensitivity,
               "every assumed parameter halved and doubled: how far each answer moves");
  app.add_flag("--detail", s.detail, "also what each row is made of");
  app.add_option("--json", s.json, "write the results as JSON to FILE, or - for standard output");
  app.add_option("--plot", s.plot, "draw the step times as FILE.svg, over the numbers of ranks");
  app.add_option("--jobs", s.jobs, "rows to simulate at a time (default: one per core)")
      ->check(CLI::Range(1, 1024));
  app.add_flag("--list", s.list, "print models, networks, strategies, planners and studies");
  app.add_flag("-q,--quiet", s.quiet, "no progress bar");
}

Status wrong(std::string message) { return Status(Code::invalid_argument, std::move(message)); }

using Names = std::vector<std::string_view>;

Names names_of(const auto& rows) {
  Names names;
  for (const auto& row : rows) names.push_back(row.name);
  return names;
}

// Each must be one of those known.
Status check_names(std::string_view what, const Names& known,
                   const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string_view near = nearest(name, known);
    return wrong(near.empty() ? cat("no ", what, " \"", name, "\"; one of ", join_text(known))
                              : cat("no ", what, " \"", name, "\"; did you mean ", near, "?"));
  }
  return {};
}

bool is_all(const std::vector<std::string>& names) {
  return names == std::vector<std::string>{"all"};
}

// "all" becomes the name of every row.
Status read_names(std::string_view what, const Names& known, std::vector<std::string>& names) {
  if (!is_all(names)) return check_names(what, known, names);
  names.assign(known.begin(), known.end());
  return {};
}

// Options that mean nothing on a timeline.
constexpr const char* kOfEvents[] = {
    "--order", "--pacing", "--iterations", "--seed", "--seeds", "--cycle-ms", "--radix",
    "--cores-per-rank", "--shared-cores", "--busy-threads", "--scp", "--jitter",
    "--stall-probability", "--stall-ms", "--displaced-per-ms", "--oversleep-probability",
    "--oversleep-ms", "--parse-ns", "--straggler", "--kill", "--partition", "--delay", "--delay-ms",
    "--duplicate", "--reorder", "--data-queue"};

// The first of them that was given; empty: none.
std::string given_of_events(const CLI::App& app) {
  for (const char* name : kOfEvents) {
    if (app.get_option(name)->count() > 0) return name;
  }
  return {};
}

bool any_plans(const SimulateSettings& s) {
  return std::any_of(s.orders.begin(), s.orders.end(),
                     [](const std::string& name) { return sim::plans_ahead(name); });
}

// The planners that events can play: those of rounds, and for orders that plan also those that
// arrange whole iterations.
Names planners_of_events(const SimulateSettings& s) {
  Names names = names_of(plan::planner_table());
  for (const std::string_view name : sim::timeline_planners()) {
    const bool playable = sim::arranges_iterations(name) && !sim::only_on_timeline(name);
    if (playable && any_plans(s)) names.push_back(name);
  }
  return names;
}

// Decides who plays the steps and reads the planners, which are others for either.
Status choose_engine(const Line& line, const std::string& of_events, SimulateSettings& s) {
  const Names playable = planners_of_events(s);
  const auto plays = [&](std::string_view name) {
    return std::find(playable.begin(), playable.end(), name) != playable.end();
  };
  const bool all = is_all(s.planners);
  if (!all) {
    if (Status bad = check_names("planner", sim::timeline_planners(), s.planners); !bad.ok()) {
      return bad;
    }
  }
  const auto whole = std::find_if(s.planners.begin(), s.planners.end(), [&](const auto& name) {
    return sim::arranges_iterations(name) && (of_events.empty() || !plays(name));
  });
  const bool needed = whole != s.planners.end();
  const bool timeline = line.engine == "timeline" ||
                        (line.engine == "auto" && (needed || (all && of_events.empty())));
  s.engine = timeline ? SimulateEngine::timeline : SimulateEngine::events;
  const auto arranges = [&] {
    const bool never = sim::only_on_timeline(*whole);
    return cat("planner ", *whole, " arranges a whole iteration beforehand, which the event engine ",
               never ? "cannot play" : "plays with an order that plans, topo or auto", " (it has ",
               join_text(playable), never ? ")" : " here)");
  };
  if (timeline && !of_events.empty()) {
    return wrong(cat(needed ? arranges() + "; on a timeline " : "on a timeline ", of_events,
                     " means nothing: there is no agreement, no noise and no fault"));
  }
  if (!timeline && needed && !plays(*whole)) return wrong(arranges());
  if (!timeline && all) {
    Names others;
    for (const std::string_view name : sim::timeline_planners()) {
      if (!plays(name)) others.push_back(name);
    }
    s.note = cat("Not among these planners: ", join_text(others), ". They arrange a whole ",
                 "iteration beforehand; --engine timeline plays them",
                 any_plans(s) ? "." : ", and orders that plan (topo, auto) all but two-phase.");
  }
  return read_names("planner", timeline ? sim::timeline_planners() : playable, s.planners);
}

Status read_workload(const Line& line, sim::Workload& workload) {
  if (line.model.empty() == line.trace.empty()) {
    return wrong("give one of --model NAME, --trace FILE and --study NAME");
  }
  if (!line.trace.empty() && (!line.device.empty() || line.granularity != "tensors")) {
    return wrong("--device and --granularity choose among what is known of a --model");
  }
  const sim::ModelChoice choice{line.compute_ms, line.device,
                                line.granularity == "layers" ? sim::Granularity::layers
                                                             : sim::Granularity::tensors};
  auto made = line.trace.empty() ? sim::make_workload(line.model, choice) : read_trace(line.trace);
  if (!made.ok()) return made.status();
  workload = std::move(made.value());
  if (line.at_end) hand_over_at_end(workload);
  if (line.batch > 0) workload.batch = line.batch;
  return {};
}

// Hosts, adapters and switches, beside what the network's own row says.
Status read_topology(const Line& line, SimulateSettings& s) {
  sim::Network& network = s.base.network;
  if (line.nics > 0) network.nics = line.nics;
  if (line.hosts_per_switch > 0) network.hosts_per_switch = line.hosts_per_switch;
  if (line.oversubscription > 0) network.oversubscription = line.oversubscription;
  if (line.spine_us >= 0) network.spine_us = line.spine_us;
  if (!line.data_queue.empty()) {
    const auto bytes = parse_bytes(line.data_queue);
    if (!bytes || *bytes < 0) return wrong(cat("--data-queue ", line.data_queue, ": as 64K"));
    network.data_queue_bytes = static_cast<double>(*bytes);
  }
  if (line.hosts.empty()) return {};
  s.ranks.clear();
  for (const int hosts : line.hosts) {
    const auto ranks = std::int64_t{hosts} * s.base.host.ranks_per_host;
    if (ranks > 1'000'000) return wrong(cat("--hosts ", hosts, ": these are ", ranks, " ranks, of "
                                            "which at most 1,000,000 can be simulated"));
    s.ranks.push_back(static_cast<int>(ranks));
  }
  return {};
}

Status finish(const Line& line, const std::string& of_events, SimulateSettings& s) {
  if (s.list || !s.study.empty()) return {};
  if (Status bad = read_workload(line, s.base.workload); !bad.ok()) return bad;
  if (s.global_batch > 0 && s.base.workload.batch == 0) {
    return wrong(cat("--global-batch: of how many samples is the compute of ", s.base.workload.name,
                     "? Give --batch N"));
  }
  const bool several = !line.hosts.empty()
                           ? *std::max_element(line.hosts.begin(), line.hosts.end()) > 1
                           : *std::max_element(s.ranks.begin(), s.ranks.end()) >
                                 s.base.host.ranks_per_host;
  auto network = network_named(line.network, several);
  if (!network.ok()) return network.status();
  s.base.network = std::move(network.value());
  if (line.codec_ns >= 0) s.base.network.codec_ns_per_byte = line.codec_ns;
  if (Status bad = Options().set("plan_codecs", s.base.plan_codecs); !bad.ok()) return bad;
  const auto emulated = parse_emulated_wire(line.emulate);
  if (!emulated) return wrong(cat("--emulate ", line.emulate, ": write alpha=0.5ms,beta=8ns"));
  s.base.network.launch_us += 1e6 * emulated->alpha_s;
  s.base.network.emulated_ns_per_byte = 1e9 * emulated->beta_s;
  if (Status bad = read_topology(line, s); !bad.ok()) return bad;
  s.base.tuning.cycle = seconds_to_nanos(line.cycle_ms * 1e-3);
  const auto fusion = parse_bytes(line.fusion_bytes);
  if (!fusion || *fusion < 0) return wrong(cat("--fusion-bytes ", line.fusion_bytes, ": as 64M"));
  s.base.fusion_bytes = *fusion;
  if (s.base.groups > 0 && s.planners == std::vector<std::string>{"threshold"}) {
    s.planners = {"groups"};
  }
  const Names orders = names_of(order::order_table()), pacings = names_of(order::pacing_table());
  if (Status bad = read_names("order", orders, s.orders); !bad.ok()) return bad;
  if (Status bad = read_names("pacing", pacings, s.pacings); !bad.ok()) return bad;
  if (Status bad = choose_engine(line, of_events, s); !bad.ok()) return bad;
  return read_faults({line.stragglers, line.kills, line.partitions}, s.base.faults);
}

}  // namespace

SimulateArguments parse_simulate_arguments(std::vector<std::string> arguments) {
  SimulateArguments out;
  Line line;
  CLI::App app;
  describe(app, line, out.settings);
  out.settings.command = cat("unisono simulate ", join_text(arguments, " "));
  if (const auto over = read_command_line(app, std::move(arguments))) {
    out.exit_code = *over;
    return out;
  }
  Status bad = check_place(app, out.settings);
  if (bad.ok()) bad = finish(line, given_of_events(app), out.settings);
  if (bad.ok()) bad = check_sense(app, out.settings);
  if (!bad.ok()) {
    std::cerr << "unisono simulate: " << bad.message() << "\n";
    out.exit_code = kWrongUsage;
  }
  return out;
}

}  // namespace unisono::tools
