// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/iteration/graph.hpp"

#include <algorithm>
#include <set>
#include <tuple>

namespace unisono::plan {
namespace {

double seconds_of(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

// The units whose needs have all been placed, in the order of a key.
template <typename Key>
class FreeUnits {
 public:
  FreeUnits(const IterationGraph& graph, Key key) : graph_(graph), key_(std::move(key)) {
    blocked_.resize(graph.units.size(), 0);
    for (std::size_t to = 0; to < blocked_.size(); ++to) {
      for (std::size_t from = 0; from < blocked_.size(); ++from) {
        blocked_[to] += graph.edges.has(from, to) ? 1 : 0;
      }
      if (blocked_[to] == 0) free_.insert(key_(to));
    }
  }
  bool empty() const { return free_.empty(); }
  auto begin() const { return free_.begin(); }
  auto end() const { return free_.end(); }
  void take(std::size_t unit) { free_.erase(key_(unit)); }
  // The unit lies in a bucket that is closed.
  void place(std::size_t unit) {
    for (std::size_t to = 0; to < blocked_.size(); ++to) {
      if (graph_.edges.has(unit, to) && --blocked_[to] == 0) free_.insert(key_(to));
    }
  }

 private:
  const IterationGraph& graph_;
  Key key_;
  std::vector<std::size_t> blocked_;
  std::set<decltype(std::declval<Key>()(std::size_t{}))> free_;
};

std::vector<std::size_t> line_of(const IterationGraph& graph) {
  const auto key = [&](std::size_t u) {
    const IterationUnit& unit = graph.units[u];
    return std::tuple(unit.ready_ns, -static_cast<std::int64_t>(unit.priority), u);
  };
  FreeUnits free(graph, key);
  std::vector<std::size_t> line;
  while (!free.empty()) {
    const std::size_t unit = std::get<2>(*free.begin());
    free.take(unit);
    free.place(unit);
    line.push_back(unit);
  }
  return line;
}

// The first of the line with which each may share a bucket.
std::vector<IterationTensor> tensors_of(const IterationGraph& graph,
                                        const std::vector<std::size_t>& line,
                                        std::int64_t bytes_max) {
  std::vector<IterationTensor> tensors;
  std::size_t from = 0;
  std::int64_t bytes = 0;               // of [from, i]
  for (std::size_t i = 0; i < line.size(); ++i) {
    const IterationUnit& unit = graph.units[line[i]];
    const std::size_t before = from;
    for (std::size_t j = i; j-- > from;) {
      const IterationUnit& other = graph.units[line[j]];
      if (unit.alone || other.alone || unit.kind != other.kind ||
          graph.edges.has(line[j], line[i])) {
        from = j + 1;
      }
    }
    for (std::size_t j = before; j < from; ++j) bytes -= graph.units[line[j]].bytes;
    bytes += unit.bytes;
    while (from < i && bytes > bytes_max) bytes -= graph.units[line[from++]].bytes;
    tensors.push_back({.ready_s = seconds_of(unit.ready_ns), .bytes = unit.bytes,
                       .group = unit.alone ? static_cast<int>(i) : -1, .joins_from = from});
  }
  return tensors;
}

double end_of(const IterationGraph& graph, const std::vector<std::uint32_t>& bucket,
              const SizeCost& cost, double free_s) {
  std::int64_t bytes = 0, ready_ns = 0;
  for (const std::uint32_t unit : bucket) {
    bytes += graph.units[unit].bytes;
    ready_ns = std::max(ready_ns, graph.units[unit].ready_ns);
  }
  return std::max(free_s, seconds_of(ready_ns)) + cost.seconds(bytes);
}

class GraphArranger : public IterationArranger {
 public:
  GraphArranger(std::string_view name, const IterationSettings& settings, CostsNow costs)
      : name_(name), settings_(settings), costs_(std::move(costs)) {}

  std::string_view name() const override { return name_; }
  double finish_s(const IterationGraph& graph, const IterationBuckets& buckets) const override {
    const std::unique_ptr<SizeCost> cost = costs_();
    double free = 0;
    for (const auto& bucket : buckets) free = end_of(graph, bucket, *cost, free);
    return free;
  }

 protected:
  const std::string_view name_;
  const IterationSettings settings_;
  const CostsNow costs_;
};

class LineArranger final : public GraphArranger {
 public:
  using GraphArranger::GraphArranger;

  IterationBuckets arrange(const IterationGraph& graph) const override {
    const std::vector<std::size_t> line = line_of(graph);
    if (line.size() != graph.units.size()) return {};
    const std::int64_t limit =
        std::min(settings_.bucket_bytes_max, name_ == "single" ? INT64_MAX : settings_.fusion_bytes);
    const std::vector<IterationTensor> tensors = tensors_of(graph, line, limit);
    const std::unique_ptr<SizeCost> cost = costs_();
    const Method plain[] = {{.name = "none", .transfer = cost.get()}};
    const Arrangement made = make_iteration_planner(name_, settings_)->arrange({tensors, plain});
    IterationBuckets buckets;
    for (const TimedBucket& bucket : made.buckets) {
      auto& units = buckets.emplace_back();
      for (std::size_t i = bucket.begin; i < bucket.end; ++i) {
        units.push_back(static_cast<std::uint32_t>(line[i]));
      }
    }
    return buckets;
  }
};

class UrgentArranger final : public GraphArranger {
 public:
  using GraphArranger::GraphArranger;

  IterationBuckets arrange(const IterationGraph& graph) const override {
    const auto key = [&](std::size_t u) {
      const IterationUnit& unit = graph.units[u];
      return std::tuple(-static_cast<std::int64_t>(unit.priority), unit.ready_ns, u);
    };
    FreeUnits free(graph, key);
    const std::unique_ptr<SizeCost> cost = costs_();
    const std::int64_t limit = std::min(
        {settings_.partition_bytes, settings_.fusion_bytes, settings_.bucket_bytes_max});
    IterationBuckets buckets;
    std::size_t placed = 0;
    double now = 0;
    while (!free.empty()) {
      std::int64_t soonest = INT64_MAX;
      for (const auto& each : free) soonest = std::min(soonest, std::get<1>(each));
      now = std::max(now, seconds_of(soonest));
      std::vector<std::uint32_t> bucket;
      std::int64_t bytes = 0;
      for (const auto& each : free) {
        if (seconds_of(std::get<1>(each)) > now) continue;
        const std::size_t u = std::get<2>(each);
        const IterationUnit& unit = graph.units[u];
        if (!bucket.empty()) {
          const IterationUnit& first = graph.units[bucket.front()];
          if (first.alone || unit.alone || first.kind != unit.kind ||
              bytes + unit.bytes > limit) {
            break;                      // what is less urgent does not overtake it
          }
        }
        bucket.push_back(static_cast<std::uint32_t>(u));
        bytes += unit.bytes;
      }
      for (const std::uint32_t unit : bucket) free.take(unit);
      for (const std::uint32_t unit : bucket) free.place(unit);
      placed += bucket.size();
      now = end_of(graph, bucket, *cost, now);
      buckets.push_back(std::move(bucket));
    }
    return placed == graph.units.size() ? buckets : IterationBuckets{};
  }
};

}  // namespace

std::unique_ptr<IterationArranger> make_arranger(std::string_view planner,
                                                 const IterationSettings& settings,
                                                 CostsNow costs) {
  const IterationRow* row = find_row(iteration_table(), planner);
  if (row == nullptr || row->name == "two-phase" || row->name == "merged-methods") return nullptr;
  if (row->name == "priority") {
    return std::make_unique<UrgentArranger>(row->name, settings, std::move(costs));
  }
  return std::make_unique<LineArranger>(row->name, settings, std::move(costs));
}

}  // namespace unisono::plan
