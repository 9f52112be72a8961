// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What solvers that go step by step have in common: the weights, the exchange, an order that every
// epoch shuffles anew, and the loop of an epoch with its costs. Thread: one per rank; collective.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "opt/exchange/registry.hpp"
#include "opt/job/random.hpp"
#include "opt/model/pipeline.hpp"
#include "opt/model/solver.hpp"

namespace unisono::opt {

class SteppedSolver : public Solver {
 public:
  const Weights& weights() const final { return weights_; }
  std::string_view exchange() const final { return exchange_->name(); }

 protected:
  SteppedSolver(Engine& engine, const Dataset& data, const SolverSettings& settings,
                Workers& workers)
      : engine_(engine), data_(data), settings_(settings), workers_(workers),
        weights_(data.rows.width) {}

  // nonzeros: the pairs of one rank in a step, on average; what `auto` goes by.
  Status choose_exchange(double nonzeros) {
    auto chosen = make_exchange(engine_, settings_.exchange, data_.rows.width, nonzeros);
    if (!chosen.ok()) return chosen.status();
    exchange_ = std::move(*chosen);
    return {};
  }

  // As the seed, the rank and the epoch decide.
  void shuffle(std::vector<std::uint32_t>& order, int epoch) const {
    Random random(mixed(mixed(settings_.seed, static_cast<std::uint64_t>(engine_.rank())),
                        static_cast<std::uint64_t>(epoch)));
    random.shuffle(order);
  }

  // step(i, done) gives what this rank adds in step i, and what apply(sum, about) has to know of
  // it; done: how much of the epoch is over. What it gives stays until step i + 2.
  template <typename About, typename Step, typename Apply>
  Result<EpochCost> run_steps(std::uint64_t steps, const SolverProgress& progress,
                              const Step& step, const Apply& apply) {
    const Stopwatch watch;
    const std::uint64_t bytes_before = exchange_->bytes();
    EpochCost cost;
    cost.steps = steps;
    Pipeline<About> pipeline(*exchange_, settings_.async, apply);
    for (std::uint64_t i = 0; i < steps; ++i) {
      const double done = static_cast<double>(i) / static_cast<double>(steps);
      const std::pair<SparseView, About> mine = step(i, done);
      cost.nonzeros += mine.first.indices.size();
      if (Status bad = pipeline.push(mine.first, mine.second); !bad.ok()) return bad;
      progress(done);
    }
    if (Status bad = pipeline.drain(); !bad.ok()) return bad;
    cost.bytes = exchange_->bytes() - bytes_before;
    cost.communication_s = pipeline.communication_s();
    cost.compute_s = watch.seconds() - cost.communication_s;
    return cost;
  }

  Engine& engine_;
  const Dataset& data_;
  SolverSettings settings_;
  Workers& workers_;
  Weights weights_;
  std::unique_ptr<Exchange> exchange_;
};

// A solver whose prepare() has gone well.
template <typename Kind>
Result<std::unique_ptr<Solver>> prepared(Engine& engine, const Dataset& data,
                                         const SolverSettings& settings, Workers& workers) {
  auto solver = std::make_unique<Kind>(engine, data, settings, workers);
  if (Status bad = solver->prepare(); !bad.ok()) return bad;
  return std::unique_ptr<Solver>(std::move(solver));
}

}  // namespace unisono::opt
