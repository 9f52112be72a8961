// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/iteration/graph.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "base/data/text.hpp"
#include "model/options/option_values.hpp"

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

// What a bucket is, as far as its time depends on it.
struct Load {
  Load(const IterationGraph& graph, const std::vector<std::uint32_t>& bucket)
      : first(graph.units[bucket.front()]) {
    for (const std::uint32_t unit : bucket) {
      bytes += graph.units[unit].bytes;
      ready_ns = std::max(ready_ns, graph.units[unit].ready_ns);
    }
  }
  double ready_s() const { return seconds_of(ready_ns); }

  const IterationUnit& first;           // all are alike
  std::int64_t bytes = 0, ready_ns = 0;
};

// All methods that the units of a graph allow, at what they cost now.
class MethodsNow {
 public:
  MethodsNow(const IterationGraph& graph, const CostsNow& costs) {
    rows_.push_back({{}, DType::f32, costs({}, DType::f32)});
    for (const IterationUnit& unit : graph.units) {
      if (!unit.sums || unit.codecs.empty()) continue;
      for (const std::string_view codec : split_list(unit.codecs)) {
        if (find(codec, unit.dtype) != rows_.size()) continue;
        if (rows_.size() == kMost) break;
        rows_.push_back({std::string(codec), unit.dtype, costs(codec, unit.dtype)});
      }
    }
  }

  std::vector<Method> methods() const {
    std::vector<Method> all;
    for (const Row& row : rows_) {
      all.push_back({.name = row.codec.empty() ? "none" : std::string_view(row.codec),
                     .transfer = row.cost.transfer.get(), .encode = row.cost.encode.get(),
                     .lossy = !row.codec.empty()});
    }
    return all;
  }
  // A bit for each of them that a unit may travel by.
  std::uint64_t allowed(const IterationUnit& unit) const {
    std::uint64_t bits = 1;
    if (!unit.sums || unit.codecs.empty()) return bits;
    for (const std::string_view codec : split_list(unit.codecs)) {
      const std::size_t at = find(codec, unit.dtype);
      if (at < rows_.size() && rows_[at].cost.transfer != nullptr) bits |= std::uint64_t{1} << at;
    }
    return bits;
  }

  double end_s(std::size_t method, const Load& load, double free_s) const {
    const MethodCost& cost = rows_[method].cost;
    const double encode_s = cost.encode == nullptr ? 0 : cost.encode->seconds(load.bytes);
    return std::max(free_s, load.ready_s() + encode_s) + cost.transfer->seconds(load.bytes);
  }
  // Of equal ends the first, which leaves tensors as they are.
  std::size_t best(const Load& load, double free_s) const {
    const std::uint64_t bits = allowed(load.first);
    std::size_t best = 0;
    for (std::size_t m = 1; m < rows_.size(); ++m) {
      if ((bits >> m & 1) == 0) continue;
      if (end_s(m, load, free_s) < end_s(best, load, free_s)) best = m;
    }
    return best;
  }
  MethodChoice choice(std::size_t method, const Load& load, double free_s) const {
    MethodChoice made;
    made.method.codec = rows_[method].codec;
    const auto us = [&](std::size_t m) {
      const double begin = std::max(free_s, load.ready_s());
      return cat(rows_[m].codec.empty() ? "none" : rows_[m].codec, " ",
                 static_cast<std::int64_t>((end_s(m, load, free_s) - begin) * 1e6 + 0.5), " us");
    };
    made.reason = us(method);
    const std::uint64_t bits = allowed(load.first);
    for (std::size_t m = 0; m < rows_.size(); ++m) {
      if (m != method && (bits >> m & 1) != 0) made.reason += cat(", ", us(m));
    }
    const MethodCost& cost = rows_[method].cost;
    if (cost.algorithm != nullptr && load.first.sums) {
      const MethodCost::Algorithm algorithm = cost.algorithm(load.first.dtype, load.bytes);
      made.method.algorithm = algorithm.name;
      if (!algorithm.reason.empty()) made.reason += cat("; ", algorithm.reason);
    }
    return made;
  }
  // The method of that codec for a bucket; the first where there is none.
  std::size_t number_of(std::string_view codec, const Load& load) const {
    const std::size_t at = codec.empty() ? 0 : find(codec, load.first.dtype);
    return at < rows_.size() && rows_[at].cost.transfer != nullptr ? at : 0;
  }

 private:
  static constexpr std::size_t kMost = 64;
  struct Row {
    std::string codec;
    DType dtype;
    MethodCost cost;
  };
  std::size_t find(std::string_view codec, DType dtype) const {
    std::size_t at = 1;
    while (at < rows_.size() && (rows_[at].codec != codec || rows_[at].dtype != dtype)) ++at;
    return at;
  }

  std::vector<Row> rows_;               // the first is of what travels as it is
};

// When each channel is free again.
class ChannelTimes {
 public:
  explicit ChannelTimes(std::uint32_t channels) : free_s_(std::max(channels, 1U), 0) {}

  std::uint32_t soonest(std::uint32_t team) const {
    if (team > 0) return static_cast<std::uint32_t>((team - 1) % free_s_.size());
    return static_cast<std::uint32_t>(std::min_element(free_s_.begin(), free_s_.end()) -
                                      free_s_.begin());
  }
  double& operator[](std::uint32_t channel) { return free_s_[channel % free_s_.size()]; }
  double all() const { return *std::max_element(free_s_.begin(), free_s_.end()); }

 private:
  std::vector<double> free_s_;
};

class GraphArranger : public IterationArranger {
 public:
  GraphArranger(std::string_view name, const IterationSettings& settings, CostsNow costs)
      : name_(name), settings_(settings), costs_(std::move(costs)) {}

  std::string_view name() const override { return name_; }
  IterationMethods methods(const IterationGraph& graph,
                           const IterationBuckets& buckets) const override {
    const MethodsNow now(graph, costs_);
    ChannelTimes free(settings_.channels);
    IterationMethods chosen;
    for (const auto& bucket : buckets) {
      const Load load(graph, bucket);
      const std::uint32_t channel = free.soonest(load.first.team);
      const std::size_t method = now.best(load, free[channel]);
      chosen.push_back(now.choice(method, load, free[channel]));
      chosen.back().method.channel = channel;
      free[channel] = now.end_s(method, load, free[channel]);
    }
    return chosen;
  }
  double finish_s(const IterationGraph& graph, const IterationBuckets& buckets,
                  const IterationMethods& methods) const override {
    const MethodsNow now(graph, costs_);
    ChannelTimes free(settings_.channels);
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      const Load load(graph, buckets[b]);
      const bool chosen = b < methods.size();
      const std::uint32_t channel =
          chosen ? methods[b].method.channel : free.soonest(load.first.team);
      const std::size_t method = chosen ? now.number_of(methods[b].method.codec, load) : 0;
      free[channel] = now.end_s(method, load, free[channel]);
    }
    return free.all();
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
    std::vector<IterationTensor> tensors = tensors_of(graph, line, limit);
    const MethodsNow now(graph, costs_);
    for (std::size_t i = 0; i < line.size(); ++i) {
      tensors[i].methods = now.allowed(graph.units[line[i]]);
    }
    const std::vector<Method> methods = now.methods();
    const bool both = name_ == "merged" && methods.size() > 1;
    IterationSettings settings = settings_;
    settings.allow_lossy = true;        // the units say where
    const Arrangement made = make_iteration_planner(both ? "merged-methods" : name_, settings)
                                 ->arrange({tensors, methods});
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
    const MethodsNow costs(graph, costs_);
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
      const Load load(graph, bucket);
      now = costs.end_s(costs.best(load, now), load, now);
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
