// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "opt/model/train.hpp"

#include <cmath>

#include "opt/job/agree.hpp"
#include "opt/job/text.hpp"
#include "opt/model/pipeline.hpp"

namespace unisono::opt {
namespace {

struct Score {
  double loss = 0, right = 0;
};

// Sums over the rows of this rank; threads divide them in blocks that do not depend on how many
// there are, so that the sum has the same bits.
Score score_of(const Rows& rows, const Weights& weights, Loss loss, Workers& workers) {
  constexpr std::size_t kBlock = 4096;
  std::vector<Score> blocks((rows.size() + kBlock - 1) / kBlock);
  workers.run_ranges(blocks.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t block = begin; block < end; ++block) {
      const std::size_t last = std::min(rows.size(), (block + 1) * kBlock);
      for (std::size_t i = block * kBlock; i < last; ++i) {
        const double decision = weights.dot(rows.row(i));
        blocks[block].loss += loss_value(loss, rows.labels[i] * decision);
        blocks[block].right += (decision > 0) == (rows.labels[i] > 0) ? 1 : 0;
      }
    }
  });
  Score all;
  for (const Score& each : blocks) {
    all.loss += each.loss;
    all.right += each.right;
  }
  return all;
}

}  // namespace

Result<Trained> train(Engine& engine, Dataset& data, Dataset* held, const TrainSettings& settings,
                      const TrainWatch& watch) {
  if (settings.intercept) {
    append_constant(data.rows);
    if (held != nullptr) append_constant(held->rows);
  }
  Workers workers(settings.threads);
  const Loss loss = settings.solver.loss;
  auto made = make_solver(engine, data, settings.solver, workers);
  if (!made.ok()) return made.status();
  Solver& solver = **made;
  Trained out;
  out.exchange = solver.exchange();
  out.rate = solver.rate();
  for (int epoch = 0; epoch < settings.epochs; ++epoch) {
    const std::uint64_t before = engine.stats().data_bytes;
    const auto cost = solver.run_epoch(epoch, [&](double done) {
      watch.progress((epoch + done) / settings.epochs);
    });
    if (!cost.ok()) return cost.status();
    const auto sent = static_cast<double>(engine.stats().data_bytes - before);
    const Stopwatch evaluation;
    const Score own = score_of(data.rows, solver.weights(), loss, workers);
    const Score tried =
        held != nullptr ? score_of(held->rows, solver.weights(), loss, workers) : Score{};
    const EpochCost& spent = cost.value();
    double sums[] = {own.loss,
                     own.right,
                     tried.right,
                     spent.compute_s,
                     spent.communication_s,
                     static_cast<double>(spent.bytes),
                     sent,
                     static_cast<double>(spent.nonzeros)};
    if (Status bad = sum_over_ranks(engine, sums); !bad.ok()) return bad;
    const auto rows = static_cast<double>(data.total());
    const double ranks = engine.size();
    EpochReport report;
    report.loss = sums[0] / rows + settings.solver.l2 / 2 * solver.weights().square();
    report.accuracy = sums[1] / rows;
    if (held != nullptr && held->total() > 0) {
      report.held_accuracy = sums[2] / static_cast<double>(held->total());
    }
    report.compute_s = sums[3] / ranks;
    report.communication_s = sums[4] / ranks;
    report.evaluation_s = evaluation.seconds();
    report.bytes = sums[5];
    report.sent_bytes = sums[6];
    report.steps = spent.steps;
    const auto steps = static_cast<double>(std::max<std::uint64_t>(spent.steps, 1));
    report.nonzeros = sums[7] / ranks / steps;
    if (!std::isfinite(report.loss)) {
      return Status(Code::invalid_argument,
                    text_of("the loss is no longer a number after epoch ", epoch + 1,
                            "; a rate below ", out.rate, " may help"));
    }
    out.epochs.push_back(report);
    watch.epoch(report);
  }
  out.model = {loss, data.labels, settings.intercept, solver.weights().values()};
  return out;
}

}  // namespace unisono::opt
