// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What minimises  1/n Σ loss(label · w·x) + l2/2 · |w|²  over the samples of all ranks, epoch by
// epoch. Every rank holds the same weights, bit for bit. Thread: one per rank; collective.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "opt/data/dataset.hpp"
#include "opt/exchange/exchange.hpp"
#include "opt/job/workers.hpp"
#include "opt/model/loss.hpp"
#include "opt/model/schedule.hpp"
#include "opt/model/weights.hpp"

namespace unisono::opt {

enum class SolverKind { sgd, scd };
inline std::string_view name_of(SolverKind kind) { return kind == SolverKind::sgd ? "sgd" : "scd"; }

struct SolverSettings {
  Loss loss = Loss::logistic;
  SolverKind kind = SolverKind::sgd;
  std::string exchange = "auto";
  bool async = false;                       // a step's exchange runs while the next one computes
  double l2 = 1e-6;
  std::uint32_t batch = 1000;               // sgd: rows of a rank in a step
  std::uint32_t coordinates = 100;          // scd: columns of a rank in a step
  RateSettings rate;                        // sgd
  std::uint64_t seed = 1;
};

// What one rank spent in an epoch.
struct EpochCost {
  double compute_s = 0;
  double communication_s = 0;               // in which the rank did nothing but communicate
  std::uint64_t steps = 0;
  std::uint64_t nonzeros = 0;               // pairs that it handed over
  std::uint64_t bytes = 0;                  // as the exchange counts them
};

// How much of the epoch is done, from 0 to 1.
using SolverProgress = std::function<void(double done)>;

class Solver {
 public:
  virtual ~Solver() = default;
  virtual Result<EpochCost> run_epoch(int epoch, const SolverProgress& progress) = 0;
  virtual const Weights& weights() const = 0;
  virtual std::string_view exchange() const = 0;
  virtual double rate() const = 0;          // of the first step; 0 where there is none
};

// The dataset and the workers must outlive the solver.
Result<std::unique_ptr<Solver>> make_sgd(Engine& engine, const Dataset& data,
                                         const SolverSettings& settings, Workers& workers);
Result<std::unique_ptr<Solver>> make_scd(Engine& engine, const Dataset& data,
                                         const SolverSettings& settings, Workers& workers);
inline Result<std::unique_ptr<Solver>> make_solver(Engine& engine, const Dataset& data,
                                                   const SolverSettings& settings,
                                                   Workers& workers) {
  return (settings.kind == SolverKind::sgd ? make_sgd : make_scd)(engine, data, settings, workers);
}

}  // namespace unisono::opt
