// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/step/turns.hpp"

#include <algorithm>
#include <memory>

#include "base/data/text.hpp"
#include "base/os/cpu.hpp"
#include "bench/step/replay.hpp"

namespace unisono::tools {
namespace {

// How many steps pass between two looks at whether a plan has been made.
constexpr int kLook = 4;

// Timers may be late by that much.
Nanos spin_for(const StepSettings& settings, const Identity& who) {
  constexpr double kTimerSlack_us = 100;
  const bool crowded = who.local_size > usable_cores();
  const double us = settings.spin_us >= 0 ? settings.spin_us : crowded ? 0 : kTimerSlack_us;
  return seconds_to_nanos(us * 1e-6);
}

struct Lane {
  StepRow row;
  std::unique_ptr<Engine> engine;            // null: refused
  int steps = 0, planned_steps = 0;
  double buckets = 0, data_bytes = 0, control_messages = 0;
};

// What rounding once to bfloat16 leaves at most.
constexpr float kTolerance = 1.0F / 256;

class Turns {
 public:
  Turns(const StepSettings& settings, const Options& base, Engine& control, const OpenLane& open,
        const StepProgress& progress)
      : settings_(settings), base_(base), control_(control), open_(open), progress_(progress),
        replay_(settings.profile,
                {control.rank(), control.size(), settings.groups, settings.forward_waits,
                 spin_for(settings, control.identity()),
                 base.plan_codecs == "none" ? 0.0F : kTolerance}) {}

  Result<StepResults> run() {
    if (Status bad = open_lanes(); !bad.ok()) return bad;
    for (Lane& lane : lanes_) {
      if (Status bad = warm_up(lane); !bad.ok()) return of(lane, bad);
    }
    for (int turn = 0; turn < settings_.repeat; ++turn) {
      for (std::size_t i = 0; i < lanes_.size(); ++i) {
        Lane& lane = lanes_[(i + static_cast<std::size_t>(turn)) % lanes_.size()];
        if (Status bad = take_turn(lane); !bad.ok()) return of(lane, bad);
      }
    }
    return results();
  }

 private:
  static Status of(const Lane& lane, const Status& bad) {
    return Status(bad.code(), cat("planner ", lane.row.planner, ": ", bad.message()), bad.culprit());
  }

  Status open_lanes() {
    for (const std::string& planner : settings_.planners) {
      Lane& lane = lanes_.emplace_back();
      lane.row.planner = planner;
      Options options = base_;
      Status refused = options.set("planner", planner);
      if (refused.ok()) refused = options.validate();
      if (!refused.ok()) {
        lane.row.refused = refused.message();
        continue;
      }
      show(cat("joining ", planner));
      auto engine = open_(options, static_cast<int>(lanes_.size()) - 1);
      if (!engine) return of(lane, engine.status());
      lane.engine = std::make_unique<Engine>(std::move(*engine));
    }
    const bool any = std::any_of(lanes_.begin(), lanes_.end(),
                                 [](const Lane& lane) { return lane.engine != nullptr; });
    return any ? Status() : Status(Code::invalid_argument, lanes_.front().row.refused);
  }

  // Steps that follow each other; counted and timed where they are measured.
  Status run_steps(Lane& lane, int count, bool measured) {
    const bool grouped = lane.row.planner == "groups" && settings_.groups > 0;
    for (int i = 0; i < count; ++i) {
      const Stats before = lane.engine->stats();
      auto step = replay_.step(*lane.engine, grouped);
      if (!step) return step.status();
      const Stats after = lane.engine->stats();
      planned_ = after.order.planned;
      ++done_;
      show(cat(lane.row.planner, measured ? "" : ", warming up"));
      // The first forward pass of a turn has nothing to wait for.
      if (!measured || (settings_.forward_waits && i == 0)) continue;
      lane.row.steps_ms.push_back(1e3 * step->seconds);
      lane.row.late_ms.push_back(1e3 * step->late_seconds);
      ++lane.steps;
      lane.planned_steps += planned_ ? 1 : 0;
      lane.buckets += static_cast<double>(after.buckets - before.buckets);
      lane.data_bytes += static_cast<double>(after.data_bytes - before.data_bytes);
      lane.control_messages +=
          static_cast<double>(after.control_messages - before.control_messages);
    }
    return replay_.finish();
  }

  Status warm_up(Lane& lane) {
    if (lane.engine == nullptr) return {};
    bool enough = false;
    while (!enough) {
      const int least = std::max(settings_.warmup - lane.row.warmup, 1);
      const int most = settings_.warmup_most - lane.row.warmup;
      const int count = std::min({std::max(least, lane.row.warmup > 0 ? kLook : 1), most});
      if (Status bad = run_steps(lane, count, false); !bad.ok()) return bad;
      lane.row.warmup += count;
      lane.row.settled = planned_;
      // Ranks come to a plan at different times, so that they follow what rank 0 says.
      std::int32_t over = planned_ || lane.row.warmup >= settings_.warmup_most ||
                                  !plans(lane.engine->options())
                              ? 1
                              : 0;
      if (Status bad = control_.broadcast<std::int32_t>("bench.step.over", {&over, 1}, 0).wait();
          !bad.ok()) {
        return bad;
      }
      enough = over != 0;
    }
    return check();
  }

  static bool plans(const Options& options) {
    return options.order == "topo" || options.order == "auto";
  }

  Status take_turn(Lane& lane) {
    if (lane.engine == nullptr) return {};
    replay_.clear();
    if (Status bad = control_.barrier().wait(); !bad.ok()) return bad;
    const int steps = settings_.steps + (settings_.forward_waits ? 1 : 0);
    if (Status bad = run_steps(lane, steps, true); !bad.ok()) return bad;
    return check();
  }

  // Every rank hears whether all sums were right, so that all of them stop together.
  Status check() {
    const Status mine = replay_.check();
    std::int32_t wrong = mine.ok() ? 0 : 1;
    const Settings sum{.op = ReduceOp::sum};
    if (Status bad = control_.allreduce<std::int32_t>("bench.step.wrong", {&wrong, 1}, sum).wait();
        !bad.ok()) {
      return bad;
    }
    if (!mine.ok() || wrong == 0) return mine;
    return Status(Code::corrupted, cat("a sum was wrong on ", wrong, " of ", control_.size(),
                                       " ranks; each of those names the tensor"));
  }

  Result<StepResults> results() {
    StepResults all;
    all.ranks = control_.size();
    all.hosts = std::max(control_.identity().cross_size, 1);
    for (Lane& lane : lanes_) {
      if (lane.engine != nullptr) {
        const Options& options = lane.engine->options();
        all.order = options.order;
        all.transport = options.transport;
        all.integrity = options.integrity;
        all.emulate = options.emulate;
        all.plan_codecs = options.plan_codecs;
        if (all.links.empty()) note_links(*lane.engine, all);
        const double steps = std::max(lane.steps, 1);
        const OrderReport order = lane.engine->stats().order;
        lane.row.strategy = order.strategy;
        lane.row.reason = order.reason;
        note_methods(order, lane.row);
        lane.row.plans = static_cast<double>(order.plans);
        lane.row.planned = lane.planned_steps / steps;
        lane.row.buckets = lane.buckets / steps;
        lane.row.data_bytes = lane.data_bytes / steps;
        lane.row.control_messages = lane.control_messages / steps;
      }
      all.rows.push_back(std::move(lane.row));
    }
    return all;
  }

  static void note_methods(const OrderReport& order, StepRow& row) {
    const auto most = std::max_element(
        order.known.begin(), order.known.end(),
        [](const PlanReport& a, const PlanReport& b) { return a.iterations < b.iterations; });
    if (most == order.known.end()) return;
    for (const PlanMethodReport& each : most->methods) {
      row.methods.push_back({each.first, static_cast<double>(each.tensors),
                             static_cast<double>(each.bytes), static_cast<double>(each.channel),
                             each.codec, each.algorithm, each.reason});
    }
  }

  static void note_links(const Engine& engine, StepResults& all) {
    const Explanation explanation = engine.explain();
    all.reduce_us_per_mib = explanation.reduce_us_per_mib;
    for (const LinkFigures& each : explanation.links) {
      all.links.push_back({each.link, each.latency_us, each.us_per_mib, each.measured});
    }
  }

  void show(const std::string& now) {
    const auto lanes = static_cast<double>(settings_.planners.size());
    const double all = lanes * (settings_.warmup + double{1} * settings_.repeat * settings_.steps);
    if (progress_) progress_(std::min(done_ / all, 1.0), now);
  }

  const StepSettings& settings_;
  const Options& base_;
  Engine& control_;
  const OpenLane& open_;
  const StepProgress& progress_;
  StepReplay replay_;                        // outlives the engines that use its buffers
  std::vector<Lane> lanes_;
  bool planned_ = false;                     // after the last step
  double done_ = 0;                          // steps
};

}  // namespace

Result<StepResults> measure_steps(const StepSettings& settings, const Options& base, Engine& control,
                                  const OpenLane& open, const StepProgress& progress) {
  return Turns(settings, base, control, open, progress).run();
}

}  // namespace unisono::tools
