// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Trains a linear model on the samples of all ranks and says how each epoch went. Thread: one per
// rank; collective.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "opt/data/dataset.hpp"
#include "opt/model/linear_model.hpp"
#include "opt/model/solver.hpp"

namespace unisono::opt {

struct TrainSettings {
  SolverSettings solver;
  int epochs = 10;
  int threads = 1;
  bool intercept = false;                   // one more weight, of a constant 1
};

// Over all samples and ranks; seconds are means over the ranks.
struct EpochReport {
  double loss = 0;                          // what is minimised, with the l2 term
  double accuracy = 0;
  std::optional<double> held_accuracy;
  double compute_s = 0;
  double communication_s = 0;
  double evaluation_s = 0;                  // of loss and accuracy; in none of the others
  double bytes = 0;                         // that all ranks handed to the exchange
  double sent_bytes = 0;                    // that their engines sent for it, as statistics say
  double nonzeros = 0;                      // of a rank in a step, on average
  std::uint64_t steps = 0;
};

struct Trained {
  LinearModel model;
  std::vector<EpochReport> epochs;
  std::string exchange;
  double rate = 0;
};

struct TrainWatch {
  std::function<void(double done)> progress = [](double) {};
  std::function<void(const EpochReport&)> epoch = [](const EpochReport&) {};
};

// `held` may be null. With an intercept the rows of both get one more entry.
Result<Trained> train(Engine& engine, Dataset& data, Dataset* held, const TrainSettings& settings,
                      const TrainWatch& watch);

}  // namespace unisono::opt
