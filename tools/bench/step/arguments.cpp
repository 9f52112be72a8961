// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/step/arguments.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "base/data/text.hpp"
#include "bench/common_words.hpp"
#include "model/options/choices.hpp"
#include "model/options/option_values.hpp"
#include "sim/timeline/timeline_step.hpp"
#include "simulate/trace.hpp"

namespace unisono::tools {
namespace {

constexpr const char* kFooter =
    R"(Forward and backward are time that passes, as the profile says; gradients are handed over when
their time has come, and their bytes are exchanged for real. Planners take turns, some steps at a
time, so that what changes on the machine changes for all. The last step of every turn is checked,
element by element. Each planner has engines of its own, which warm up until steps follow a plan, or
--warmup-most steps are over. A planner that the engine does not have is named with its reason.

--emulate adds a slower network to the one that is there: each bucket ends alpha later, and beta later
for each byte, and those behind it wait. --scale multiplies times and sizes, not latencies, so that a
scaled step is another step: latency counts for more in it.

Without a launcher, --ranks processes are started here. Under `unisono run` each process is a rank,
on any hosts, and rank 0 reports.

Examples:
  unisono bench step --model resnet50 --ranks 2
  unisono bench step --model resnet50 --ranks 4 --transport tcp --planner wfbp,single,threshold
  unisono bench step --model googlenet --scale 0.2 --emulate alpha=0.5ms,beta=8ns
  unisono bench step --trace step.json --planner all --json - --plot step.svg
  unisono bench step --model vgg16 --scale 0.1 --forward-waits --planner threshold,wfbp
  unisono run -H one,two unisono bench step --model resnet50 --integrity plain

Exit codes: 0 success; 1 the job failed or a sum was wrong; 2 wrong usage; 3 the machine lacks
something.)";

constexpr double kScaleMin = 1e-4, kScaleMax = 100;

struct StepLine {
  std::string model, trace, device, granularity = "tensors";
  std::string planners = "all", order = "topo", pacing, transport, integrity, fusion_bytes, emulate,
      plan_codecs;
  std::vector<std::string> set;
  double compute_ms = 0;
};

void describe_step(CLI::App& app, StepLine& line, StepSettings& s) {
  app.name("unisono bench step");
  app.description(
      "Replays a training step: compute as time that passes, gradients exchanged for real.\n"
      "  unisono bench step --model NAME | --trace FILE [options]");
  app.footer(kFooter);
  app.add_option("--model", line.model, "a step of `unisono simulate --list`");
  app.add_option("--trace", line.trace, "a step recorded as FILE.json (unisono trace compact)");
  app.add_option("--device", line.device, "whose compute time of the model");
  app.add_option("--granularity", line.granularity, "hand over a model's tensors, or its layers")
      ->check(CLI::IsMember({"tensors", "layers"}))
      ->capture_default_str();
  app.add_option("--compute-ms", line.compute_ms, "compute of a step, instead of the model's own")
      ->check(CLI::PositiveNumber);
  app.add_option("--scale", s.scale, "multiply the step's times and sizes by this")
      ->check(CLI::Range(kScaleMin, kScaleMax))
      ->capture_default_str();
  app.add_option("--planner", line.planners, "planners, or all")->capture_default_str();
  app.add_option("--groups", s.groups, "planner groups: hand the tensors over as so many groups")
      ->check(CLI::Range(0, 1'000'000));
  app.add_option("--order", line.order, "how ranks agree (planners of a step need topo or auto)")
      ->capture_default_str();
  app.add_option("--pacing", line.pacing, "when they do");
  app.add_option("--transport", line.transport, "auto, shm or tcp");
  app.add_option("--integrity", line.integrity, "auth or plain");
  app.add_option("--fusion-bytes", line.fusion_bytes, "of the planner threshold");
  app.add_option("--emulate", line.emulate, "alpha=0.5ms,beta=8ns: a slower network on top");
  app.add_option("--plan-codecs", line.plan_codecs,
                 "bf16,qsgd:8: codecs that plans may choose where a bucket ends sooner");
  app.add_option("--set", line.set, "any option as key=value (see: unisono options); repeatable")
      ->allow_extra_args(false);
  app.add_option("-n,--np,--num-proc,--ranks", s.ranks, "how many to start here; 2 by default")
      ->check(CLI::Range(1, 1024));
  app.add_option("--steps", s.steps, "steps in one turn of a planner")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--repeat", s.repeat, "turns of each planner")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--warmup", s.warmup, "steps of each planner before it is measured, at least")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--warmup-most", s.warmup_most, "steps after which nobody waits for a plan")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_flag("--forward-waits", s.forward_waits,
               "each layer of the next forward pass waits for its own gradient only");
  app.add_option("--spin-us", s.spin_us,
                 "how long compute spins before each gradient instead of sleeping on; by default 100, "
                 "or 0 where ranks outnumber cores. 0 where hosts share a machine")
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--json", s.json, "write the results as JSON to FILE, or - for standard output");
  app.add_option("--write-profile", s.write_profile,
                 "write the step that is replayed as FILE.json, for `unisono simulate --trace`");
  app.add_option("--plot", s.plot, "draw the steps as FILE.svg");
  app.add_flag("-q,--quiet", s.quiet, "no progress bar");
  app.add_flag("--lines", s.lines)->group("");  // for the ranks that this command starts itself
}

Status read_profile(const StepLine& line, StepSettings& s) {
  if (line.model.empty() == line.trace.empty()) {
    return wrong_word("replay what? Give --model NAME or --trace FILE, not both; `unisono simulate "
                      "--list` names the models");
  }
  auto profile = line.trace.empty()
                     ? sim::make_workload(line.model,
                                          {line.compute_ms, line.device,
                                           line.granularity == "layers" ? sim::Granularity::layers
                                                                        : sim::Granularity::tensors})
                     : read_trace(line.trace);
  if (!profile) return profile.status();
  s.profile = scaled(std::move(*profile), s.scale);
  constexpr std::int64_t kBytesMost = std::int64_t{1} << 38;
  if (s.profile.bytes() > kBytesMost) {
    return wrong_word(cat(s.profile.name, ": ", s.profile.bytes(), " bytes of gradients do not fit a "
                          "machine; give --scale"));
  }
  return {};
}

Status read_planners(const StepLine& line, StepSettings& s) {
  const std::vector<std::string> all = known_planners();
  const std::vector<std::string_view> known(all.begin(), all.end());
  if (line.planners == "all") {
    s.planners = all;
    return {};
  }
  std::string_view rest = line.planners;
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view name = trim(rest.substr(0, comma));
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return wrong_word(cat("no planner \"", name, "\"", instead_of(name, known)));
    }
    if (std::find(s.planners.begin(), s.planners.end(), name) == s.planners.end()) {
      s.planners.emplace_back(name);
    }
    if (comma == std::string_view::npos) return {};
    rest.remove_prefix(comma + 1);
  }
}

Status read_options(const StepLine& line, StepSettings& s) {
  return read_engine_options(
      {{"order", line.order}, {"pacing", line.pacing}, {"transport", line.transport},
       {"integrity", line.integrity}, {"fusion_bytes", line.fusion_bytes},
       {"emulate", line.emulate}, {"plan_codecs", line.plan_codecs}},
      line.set, "planner", "--planner", s.options);
}

Status read_rest(StepSettings& s) {
  if (Status bad = check_plot(s.plot); !bad.ok()) return bad;
  s.warmup_most = std::max(s.warmup, s.warmup_most);
  const bool has_forward = std::any_of(s.profile.tensors.begin(), s.profile.tensors.end(),
                                       [](const auto& tensor) { return tensor.forward_us > 0; });
  if (s.forward_waits && !has_forward) {
    return wrong_word(cat("--forward-waits: ", s.profile.name, " does not say when the forward pass "
                          "comes to each tensor (\"forward_us\")"));
  }
  return {};
}

}  // namespace

std::vector<std::string> known_planners() {
  std::vector<std::string> names;
  for (const std::string_view name : sim::timeline_planners()) names.emplace_back(name);
  for (const OptionChoice& choice : kPlannerChoices) {
    if (std::find(names.begin(), names.end(), choice.name) == names.end()) {
      names.emplace_back(choice.name);
    }
  }
  return names;
}

sim::Workload scaled(sim::Workload profile, double factor) {
  if (factor != 1) {
    for (sim::WorkloadTensor& tensor : profile.tensors) {
      tensor.bytes = std::llround(static_cast<double>(tensor.bytes) * factor);
      tensor.ready_us *= factor;
      tensor.forward_us *= factor;
    }
    profile.compute_us *= factor;
    profile.forward_us *= factor;
  }
  constexpr std::int64_t kFloat = 4;
  for (sim::WorkloadTensor& tensor : profile.tensors) {
    tensor.bytes = std::max((tensor.bytes + kFloat - 1) / kFloat, std::int64_t{1}) * kFloat;
  }
  return profile;
}

StepArguments parse_step_arguments(std::vector<std::string> arguments) {
  StepArguments out;
  out.settings.command = cat("unisono bench step ", join_text(arguments, " "));
  StepLine line;
  CLI::App app;
  describe_step(app, line, out.settings);
  out.exit_code = read_bench_line("unisono bench step", app, std::move(arguments), [&] {
    Status bad = read_profile(line, out.settings);
    if (bad.ok()) bad = read_planners(line, out.settings);
    if (bad.ok()) bad = read_options(line, out.settings);
    return bad.ok() ? read_rest(out.settings) : bad;
  });
  return out;
}

}  // namespace unisono::tools
