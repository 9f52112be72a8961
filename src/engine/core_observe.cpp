// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What a caller reads from an engine: counters, where the time went, timelines, whose CPUs are which.
#include "engine/core.hpp"

#include <array>

#include "affinity/bind.hpp"
#include "base/data/text.hpp"
#include "base/log.hpp"

namespace unisono::engine {
namespace {
constexpr double kMebibyte = 1 << 20;
}  // namespace

Explanation EngineCore::explain() const {
  Explanation out;
  out.choices = explanations_.all();
  out.sparse = explanations_.all_sparse();
  if (!network_.usable) return out;
  for (std::size_t i = 0; i < cost::kLinkClasses; ++i) {
    const auto link = static_cast<cost::LinkClass>(i);
    const cost::LinkCost& found = network_.costs.of(link);
    out.links.push_back({.link = std::string(cost::link_name(link)),
                         .latency_us = found.latency() * 1e6,
                         .us_per_mib = found.per_byte() * kMebibyte * 1e6,
                         .measured = network_.measured[i]});
  }
  out.reduce_us_per_mib = network_.costs.reduce_per_byte * kMebibyte * 1e6;
  out.merge_ns_per_pair = network_.costs.merge_per_pair * 1e9;
  return out;
}

// Other ranks' threads are not ours to bind.
Result<int> EngineCore::bind_compute() const {
  if (placement_.compute.empty()) return 0;
  if (world_ != nullptr) {
    if (Status status = affinity::bind_this_thread(placement_.compute); !status.ok()) return status;
    return 1;
  }
  return affinity::bind_process_threads(placement_.compute,
                                        std::array{placement_.engine, placement_.input});
}

Status EngineCore::bind_input() const {
  const std::vector<int>& cpus = placement_.input.empty() ? placement_.compute : placement_.input;
  return cpus.empty() ? Status{} : affinity::bind_this_thread(cpus);
}

std::vector<Timing> EngineCore::timings() const {
  std::vector<Timing> out;
  for (const observe::TensorTiming& entry : timings_.recent()) {
    const auto us = [](Nanos d) { return static_cast<double>(d.count()) * 1e-3; };
    const observe::Stations& at = entry.at;
    out.push_back({.name = std::string(entry.name()),
                   .bytes = entry.bytes,
                   .bucket = entry.bucket,
                   .submitted_us = us(at.submitted - Time{}),
                   .negotiation_us = us(at.agreed - at.submitted),
                   .wait_tensors_us = us(at.begun - at.agreed),
                   .pack_us = us(at.packed - at.begun),
                   .wait_data_us = us(at.joined - at.packed),
                   .move_us = us(at.moved - at.joined),
                   .unpack_us = us(at.done - at.moved)});
  }
  return out;
}

Status EngineCore::start_timeline(const std::string& path, bool mark_cycles) {
  if (auto status = usable(); !status) return status;
  if (path.empty()) return Status(Code::invalid_argument, "a timeline needs the name of a file");
  using Form = observe::Timeline::Form;
  return open_timeline(timeline_, path, mark_cycles ? Form::timeline_with_cycles : Form::timeline);
}

Status EngineCore::open_timeline(std::unique_ptr<observe::Timeline>& timeline,
                                 const std::string& path, observe::Timeline::Form form) {
  std::lock_guard lock(timeline_mutex_);
  timeline.reset();
  auto opened = observe::Timeline::open(path, identity_.rank, identity_.host, timings_, form);
  if (!opened) return opened.status();
  timeline = std::move(*opened);
  return {};
}

Status EngineCore::start_files() {
  // A program may join several jobs at once, all with the same options. The first one is recorded.
  const auto unless_taken = [](Status status) {
    if (status.code() != Code::unavailable) return status;
    log_line(LogLevel::info, cat(status.message(), "; this one is not recorded"));
    return Status();
  };
  if (!options_.trace.empty()) {
    const Status opened =
        unless_taken(open_timeline(trace_, options_.trace, observe::Timeline::Form::trace));
    if (!opened) return opened;
  }
  if (options_.timeline.empty() || options_.timeline == "DYNAMIC") return {};
  return unless_taken(start_timeline(options_.timeline, options_.timeline_mark_cycles));
}

void EngineCore::stop_timeline() {
  if (forks_.in_child()) return;
  std::lock_guard lock(timeline_mutex_);
  timeline_.reset();
}

void EngineCore::stop_trace() {
  std::lock_guard lock(timeline_mutex_);
  trace_.reset();
}

Stats EngineCore::stats() const {
  Stats stats;
  const auto seconds = [](std::int64_t ns) { return static_cast<double>(ns) * 1e-9; };
#define UNISONO_COUNT(name, about) stats.name = observe::Counters::get(counters_.name);
#define UNISONO_TIME(name, about) \
  stats.name##_s = static_cast<double>(observe::Counters::get(counters_.name##_ns)) * 1e-9;
#define UNISONO_NOW(name, about)
  UNISONO_STATS(UNISONO_COUNT, UNISONO_TIME, UNISONO_NOW, UNISONO_NOW)
#undef UNISONO_COUNT
#undef UNISONO_TIME
#undef UNISONO_NOW
  stats.in_flight = names_.in_flight();
  stats.engine_cpu_s = seconds(cpu_ns_.load(std::memory_order_relaxed));
  stats.order = order_reports_.get();
  if (stats.order.strategy.empty()) stats.order.strategy = options_.order;
  stats.order.planner = options_.planner;
  stats.codecs = codec_memory_.reports();
  std::lock_guard lock(sets_mutex_);
  stats.slow_rank = slow_.rank;
  stats.slow_late_s = seconds(slow_.late.count());
  stats.verdict = verdict_;
  return stats;
}

}  // namespace unisono::engine
