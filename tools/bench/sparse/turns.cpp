// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/sparse/turns.hpp"

#include <algorithm>
#include <memory>
#include <thread>

#include "base/clock.hpp"
#include "base/data/text.hpp"
#include "bench/settings.hpp"
#include "bench/sparse/exchange.hpp"
#include "bench/sparse/inputs/counts.hpp"
#include "bench/sparse/inputs/predict.hpp"
#include "move/sparse/sparse.hpp"

namespace unisono::tools {
namespace {

constexpr double kTurnSeconds = 0.05;
constexpr int kCallsMost = 64;               // in one turn
constexpr int kWarmup = 3, kWarmupOfTrials = 24;
constexpr double kMebibyte = 1 << 20;

bool lossy(const std::string& algorithm) {
  for (const move::SparseRow& row : move::sparse_algorithm_table()) {
    if (row.name == algorithm) return row.lossy;
  }
  return false;
}

bool shares_memory(const Engine& engine) {
  return engine.identity().cross_size <= 1 && engine.options().transport != "tcp";
}

// Hosts are taken as alike.
PredictedNetwork network_of(const Engine& engine) {
  PredictedNetwork out{{}, cost::typical_costs()};
  const Identity& who = engine.identity();
  out.layout.n = who.size;
  out.layout.hosts = std::max(who.cross_size, 1);
  out.layout.each = out.layout.least = std::max(who.size / out.layout.hosts, 1);
  out.layout.apart = std::int64_t{1} * who.size * (who.size - out.layout.each);
  if (engine.options().transport == "tcp") out.layout.within = cost::LinkClass::loopback;
  const Explanation explanation = engine.explain();
  if (explanation.links.empty()) return out;
  for (std::size_t i = 0; i < explanation.links.size() && i < cost::kLinkClasses; ++i) {
    const LinkFigures& link = explanation.links[i];
    for (std::size_t p = 0; p < cost::kPointBytes.size(); ++p) {
      out.costs.links[i].points[p] =
          1e-6 * (link.latency_us +
                  link.us_per_mib * static_cast<double>(cost::kPointBytes[p]) / kMebibyte);
    }
  }
  out.costs.reduce_per_byte = 1e-6 * explanation.reduce_us_per_mib / kMebibyte;
  out.costs.merge_per_pair = 1e-9 * explanation.merge_ns_per_pair;
  return out;
}

// One way to reduce a case.
struct Way {
  SparseBenchRow row;
  std::unique_ptr<Exchange> exchange;
  Engine* engine = nullptr;
  int gather_bits = 0;
  int warmup = 0, calls = 1;
  std::vector<double> times_us;              // of this rank
  double sent = 0;                           // by this rank in one call
};

class SparseTurns {
 public:
  SparseTurns(const SparseBenchSettings& settings, const Options& base, Engine& engine,
              const OpenLane& open, const SparseProgress& progress)
      : settings_(settings), base_(base), engine_(engine), open_(open), progress_(progress) {}

  Result<SparseBenchResults> run() {
    for (const SparseBenchCase& one : settings_.cases) {
      const SupportShape shape = one.shape(engine_.size(), settings_.seed);
      if (Status bad = supportable(shape); !bad.ok()) return bad;
      if (Status bad = SparseOracle::checkable(one.dtype, engine_.size()); !bad.ok()) return bad;
    }
    note_job();
    if (Status bad = open_lanes(); !bad.ok()) return bad;
    for (const SparseBenchCase& one : settings_.cases) {
      if (Status bad = measure(one); !bad.ok()) return bad;
    }
    return std::move(results_);
  }

 private:
  static Status of(const Way& way, const Status& bad) {
    return Status(bad.code(),
                  cat(way.row.dense() ? "dense " : "", way.row.name(), ": ", bad.message()),
                  bad.culprit());
  }

  void note_job() {
    const Options& options = engine_.options();
    results_.ranks = engine_.size();
    results_.hosts = std::max(engine_.identity().cross_size, 1);
    results_.transport = options.transport;
    results_.integrity = options.integrity;
    results_.emulate = options.emulate;
    results_.shares_memory = shares_memory(engine_);
    const Explanation explanation = engine_.explain();
    results_.reduce_us_per_mib = explanation.reduce_us_per_mib;
    for (const LinkFigures& each : explanation.links) {
      results_.links.push_back({each.link, each.latency_us, each.us_per_mib, each.measured});
    }
  }

  Status open_lanes() {
    for (const std::string& algorithm : settings_.dense) {
      auto& lane = lanes_.emplace_back();
      if (algorithm == "auto") continue;
      Options options = base_;
      if (Status bad = options.set("algorithm", algorithm); !bad.ok()) return bad;
      show(cat("joining, dense ", algorithm));
      auto engine = open_(options, static_cast<int>(lanes_.size()) - 1);
      if (!engine) return engine.status();
      lane = std::make_unique<Engine>(std::move(*engine));
    }
    return {};
  }

  std::vector<Way> ways_of(const SparseInputs& inputs, int number) {
    std::vector<Way> ways;
    const auto add = [&](const char* collective, const SparseMethod& method) -> Way& {
      Way& way = ways.emplace_back();
      way.row.input = number;
      way.row.collective = collective;
      way.row.algorithm = method.algorithm;
      way.row.codec = method.codec();
      way.gather_bits = method.gather_bits;
      way.warmup = settings_.warmup >= 0 ? settings_.warmup : kWarmup;
      return way;
    };
    // A name for each, so that what an order learns of one is not unlearned by the next.
    const auto name = [&](const Way& way) {
      return cat("bench.", way.row.collective, ".", way.row.name(), ".", number);
    };
    for (std::size_t i = 0; i < settings_.dense.size(); ++i) {
      Way& way = add("allreduce", {settings_.dense[i]});
      way.engine = lanes_[i] == nullptr ? &engine_ : lanes_[i].get();
      way.exchange = dense_exchange(*way.engine, name(way), inputs);
      const bool trials = lanes_[i] == nullptr && !results_.shares_memory;
      if (trials && settings_.warmup < 0) way.warmup = kWarmupOfTrials;
    }
    for (const SparseMethod& method : settings_.methods) {
      Way& way = add("sparse_allreduce", method);
      way.engine = &engine_;
      way.row.lossy = lossy(method.algorithm) || method.gather_bits > 0;
      way.exchange = sparse_exchange(engine_, name(way), method, inputs);
    }
    return ways;
  }

  Status measure(const SparseBenchCase& one) {
    const int number = static_cast<int>(results_.inputs.size());
    show(cat("vectors of case ", number + 1));
    SparseInputs inputs(one, one.shape(engine_.size(), settings_.seed), engine_.rank(),
                        !settings_.dense.empty());
    const cost::UnionCount expected = expected_counts(inputs.shape);
    results_.inputs.push_back({std::string(bench_name(one.dtype)),
                               std::string(name_of(one.support)), one.density, one.length,
                               one.bytes(), inputs.shape.nnz, inputs.oracle.nnz_out(),
                               expected(0, engine_.size(), 0, one.length)});
    std::vector<Way> ways = ways_of(inputs, number);
    for (Way& way : ways) {
      if (Status bad = warm_up(way, inputs); !bad.ok()) return of(way, bad);
    }
    std::erase_if(ways, [&](Way& way) {
      if (!way.row.refused.empty()) refused_.push_back(std::move(way.row));
      return way.exchange == nullptr;
    });
    for (int turn = 0; turn < settings_.repeat; ++turn) {
      for (std::size_t i = 0; i < ways.size(); ++i) {
        Way& way = ways[(i + static_cast<std::size_t>(turn)) % ways.size()];
        if (Status bad = take_turn(way, inputs); !bad.ok()) return of(way, bad);
        ++turns_done_;
        show(cat(way.row.dense() ? "dense " : "", way.row.name()));
      }
    }
    for (Way& way : ways) {
      if (Status bad = finish(way, inputs, expected); !bad.ok()) return of(way, bad);
      results_.rows.push_back(std::move(way.row));
    }
    std::move(refused_.begin(), refused_.end(), std::back_inserter(results_.rows));
    refused_.clear();
    return {};
  }

  // The first call tells whether the engine does such a thing at all: it refuses on all ranks
  // alike.
  Status warm_up(Way& way, SparseInputs& inputs) {
    show(cat(way.row.name(), ", warming up"));
    double last_s = 0;
    inputs.begin_round(++round_);
    for (int i = 0; i < std::max(way.warmup, 1); ++i) {
      if (Status bad = engine_.barrier().wait(); !bad.ok()) return bad;
      const Time begin = clock_.now();
      const Status done = way.exchange->call();
      if (i == 0 && done.code() == Code::invalid_argument) {
        way.row.refused = done.message();
        way.exchange.reset();
        return {};
      }
      if (!done.ok()) return done;
      last_s = nanos_to_seconds(clock_.now() - begin);
    }
    if (Status bad = check(way); !bad.ok()) return bad;
    if (Status bad = count_bytes(way); !bad.ok()) return bad;
    const int fitting = static_cast<int>(kTurnSeconds / std::max(last_s, 1e-6));
    std::int32_t agreed =
        settings_.iterations > 0 ? settings_.iterations : std::clamp(fitting, 1, kCallsMost);
    if (Status bad = engine_.broadcast<std::int32_t>("bench.sparse.calls", {&agreed, 1}, 0).wait();
        !bad.ok()) {
      return bad;
    }
    way.calls = agreed;
    return {};
  }

  // An engine publishes what it has sent after it has told about the result, so that calls which
  // are timed cannot be counted.
  Status count_bytes(Way& way) {
    const double before = bytes_at_rest(*way.engine);
    if (Status bad = way.exchange->call(); !bad.ok()) return bad;
    way.sent = bytes_at_rest(*way.engine) - before;
    return {};
  }

  static double bytes_at_rest(const Engine& engine) {
    constexpr auto kRest = std::chrono::milliseconds(2);
    constexpr int kLooksMost = 100;
    std::uint64_t seen = engine.stats().data_bytes;
    for (int look = 0; look < kLooksMost; ++look) {
      std::this_thread::sleep_for(kRest);
      const std::uint64_t now = engine.stats().data_bytes;
      if (now == seen && look > 0) break;
      seen = now;
    }
    return static_cast<double>(seen);
  }

  Status take_turn(Way& way, SparseInputs& inputs) {
    inputs.begin_round(++round_);
    for (int i = 0; i < way.calls; ++i) {
      if (Status bad = engine_.barrier().wait(); !bad.ok()) return bad;
      const Time begin = clock_.now();
      if (Status bad = way.exchange->call(); !bad.ok()) return bad;
      way.times_us.push_back(1e6 * nanos_to_seconds(clock_.now() - begin));
    }
    ++way.row.turns;
    return check(way);
  }

  // Every rank hears whether all results were right, so that all of them stop together.
  Status check(Way& way) {
    const Status mine = way.exchange->check();
    std::int32_t wrong = mine.ok() ? 0 : 1;
    const Settings sum{.op = ReduceOp::sum};
    if (Status bad = engine_.allreduce<std::int32_t>("bench.sparse.wrong", {&wrong, 1}, sum).wait();
        !bad.ok()) {
      return bad;
    }
    way.row.checked = mine.ok() && wrong == 0;
    if (!mine.ok() || wrong == 0) return mine;
    return Status(Code::corrupted, cat("a result was wrong on ", wrong, " of ", engine_.size(),
                                       " ranks; each of those names the element"));
  }

  // What the ranks found, together.
  Status finish(Way& way, const SparseInputs& inputs, const cost::UnionCount& expected) {
    way.row.times_us = std::move(way.times_us);
    double all = way.sent, most = way.sent;
    const Settings max{.op = ReduceOp::max}, sum{.op = ReduceOp::sum};
    const Ticket told[] = {engine_.allreduce<double>("bench.sparse.times", way.row.times_us, max),
                           engine_.allreduce<double>("bench.sparse.most", {&most, 1}, max),
                           engine_.allreduce<double>("bench.sparse.sent", {&all, 1}, sum)};
    for (const Ticket& each : told) {
      if (Status bad = each.wait(); !bad.ok()) return bad;
    }
    way.row.data_bytes = all / engine_.size();
    way.row.data_bytes_most = most;
    way.row.dense_result = way.exchange->dense_result();
    way.row.ran = way.row.dense() && results_.shares_memory ? "shared memory" : way.exchange->ran();
    if (engine_.rank() == 0) predict(way.row, way.gather_bits, inputs, expected);
    return {};
  }

  void predict(SparseBenchRow& row, int gather_bits, const SparseInputs& inputs,
               const cost::UnionCount& expected) {
    const PredictedNetwork network = network_of(engine_);
    const PredictedVector vector{inputs.what.length, inputs.shape.nnz, inputs.what.dtype,
                                 gather_bits};
    if (row.dense()) {
      const Predicted all = predicted_dense(row.ran, vector, network);
      row.predicted_bytes = row.counted_bytes = all.bytes;
      row.predicted_us = all.us;
      return;
    }
    const std::string& algorithm = row.ran.empty() ? row.algorithm : row.ran;
    const Predicted before = predicted_sparse(algorithm, vector, expected, network);
    row.predicted_bytes = before.bytes;
    row.predicted_us = before.us;
    row.counted_bytes =
        predicted_sparse(algorithm, vector, actual_counts(inputs.supports, vector.length), network)
            .bytes;
  }

  void show(const std::string& now) {
    const auto ways = static_cast<double>(settings_.dense.size() + settings_.methods.size());
    const double all = ways * settings_.repeat * static_cast<double>(settings_.cases.size());
    if (progress_) progress_(std::min(turns_done_ / std::max(all, 1.0), 1.0), now);
  }

  const SparseBenchSettings& settings_;
  const Options& base_;
  Engine& engine_;
  const OpenLane& open_;
  const SparseProgress& progress_;
  std::vector<std::unique_ptr<Engine>> lanes_;  // by dense algorithm; null: `engine`
  SparseBenchResults results_;
  std::vector<SparseBenchRow> refused_;      // of this case
  int round_ = 0;
  double turns_done_ = 0;
  SteadyClock clock_;
};

}  // namespace

Result<SparseBenchResults> measure_sparse(const SparseBenchSettings& settings, const Options& base,
                                          Engine& engine, const OpenLane& open,
                                          const SparseProgress& progress) {
  return SparseTurns(settings, base, engine, open, progress).run();
}

}  // namespace unisono::tools
