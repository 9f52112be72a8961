// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Stochastic gradient descent with large batches. An epoch has as many steps as the rank with most
// rows needs for at most `batch` in each; every rank spreads its rows evenly over them, so that no step
// is made of a few left over, which would be as long as the others and mostly noise. The order of the
// rows follows from the seed, the rank and the epoch. Gradients are summed over the ranks and divided
// by the rows that are in them.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "opt/job/agree.hpp"
#include "opt/job/text.hpp"
#include "opt/model/gradient.hpp"
#include "opt/model/stepped.hpp"

namespace unisono::opt {
namespace {

// What the sum of a step becomes part of the weights with.
struct SgdStep {
  double rate = 0;
  double rows = 0;                          // of all ranks
};

// The largest eigenvalue of the mean of x·xᵀ over some of the rows, by power iteration.
double agreement_of(const Rows& rows) {
  constexpr std::size_t kRows = 1000;
  constexpr int kTurns = 12;
  const std::size_t count = std::min(rows.size(), kRows);
  std::vector<double> direction(rows.width, 1), next(rows.width);
  double value = 0;
  for (int turn = 0; turn < kTurns && count > 0; ++turn) {
    double length = 0;
    for (const double each : direction) length += each * each;
    length = std::sqrt(length);
    if (length == 0) return 0;
    std::fill(next.begin(), next.end(), 0);
    value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const Entry row = rows.row(i * rows.size() / count);
      double product = 0;
      for (std::size_t k = 0; k < row.columns.size(); ++k) {
        product += direction[row.columns[k]] / length * row.values[k];
      }
      value += product * product / static_cast<double>(count);
      for (std::size_t k = 0; k < row.columns.size(); ++k) {
        next[row.columns[k]] += product * row.values[k];
      }
    }
    direction.swap(next);
  }
  return value;
}

class Sgd final : public SteppedSolver {
 public:
  Sgd(Engine& engine, const Dataset& data, const SolverSettings& settings, Workers& workers)
      : SteppedSolver(engine, data, settings, workers), gradient_(data.rows, workers),
        order_(data.rows.size()) {
    std::iota(order_.begin(), order_.end(), 0u);
    const std::uint64_t longest = *std::max_element(data.rows_of.begin(), data.rows_of.end());
    steps_ = std::max<std::uint64_t>(1, (longest + settings.batch - 1) / settings.batch);
  }

  Status prepare() {
    if (data_.rows.size() > UINT32_MAX) return wrong("a rank takes at most 2^32 - 1 rows");
    if (Status bad = find_rate(); !bad.ok()) return bad;
    if (settings_.rate.rate * settings_.l2 >= 1) {
      return wrong("rate ", settings_.rate.rate, " times l2 ", settings_.l2,
                   " is not below 1, so a step would shrink weights to nothing; lower one of them");
    }
    // What `auto` goes by: the pairs of a first batch, on average over the ranks.
    double nonzeros[1] = {static_cast<double>(
        gradient_.of(batch_of(0), weights_, settings_.loss).indices.size())};
    if (Status bad = sum_over_ranks(engine_, nonzeros); !bad.ok()) return bad;
    return choose_exchange(nonzeros[0] / engine_.size());
  }

  Result<EpochCost> run_epoch(int epoch, const SolverProgress& progress) override {
    shuffle(order_, epoch);
    return run_steps<SgdStep>(
        steps_, progress,
        [&](std::uint64_t i, double done) -> std::pair<SparseView, SgdStep> {
          return {gradient_.of(batch_of(i), weights_, settings_.loss),
                  {rate_at(settings_.rate, epoch + done), rows_in(i)}};
        },
        [&](const Total& sum, const SgdStep& step) { apply(sum, step); });
  }

  double rate() const override { return settings_.rate.rate; }

 private:
  std::span<const std::uint32_t> batch_of(std::uint64_t step) const {
    const std::uint64_t begin = begin_of(step, order_.size());
    return std::span(order_).subspan(begin, begin_of(step + 1, order_.size()) - begin);
  }
  // Where a step begins in the rows of a rank that has so many.
  std::uint64_t begin_of(std::uint64_t step, std::uint64_t rows) const {
    return rows / steps_ * step + rows % steps_ * step / steps_;
  }
  double rows_in(std::uint64_t step) const {
    double rows = 0;
    for (const std::uint64_t has : data_.rows_of) {
      rows += static_cast<double>(begin_of(step + 1, has) - begin_of(step, has));
    }
    return rows;
  }

  // The loss curves most along the direction in which rows agree most; steps that are stable there
  // are stable everywhere.
  Status find_rate() {
    if (settings_.rate.rate > 0) return {};
    const double mine[1] = {agreement_of(data_.rows)};
    const auto all = gather<double>(engine_, mine);
    if (!all.ok()) return all.status();
    double most = 0;
    for (const std::vector<double>& each : all.value()) most = std::max(most, each.at(0));
    constexpr double kLogistic = 6, kHinge = 2;
    const double rate = settings_.loss == Loss::logistic ? kLogistic : kHinge;
    settings_.rate.rate = most > 0 ? rate / most : 1;
    if (settings_.l2 > 0) settings_.rate.rate = std::min(settings_.rate.rate, 0.5 / settings_.l2);
    return {};
  }

  void apply(const Total& sum, const SgdStep& step) {
    weights_.shrink(1 - step.rate * settings_.l2);
    if (step.rows == 0) return;
    const auto factor = static_cast<float>(-step.rate / step.rows / weights_.scale());
    float* const v = weights_.raw();
    workers_.run_ranges(sum.values.size(), [&](std::size_t begin, std::size_t end) {
      if (sum.dense) {
        for (std::size_t i = begin; i < end; ++i) v[i] += factor * sum.values[i];
      } else {
        for (std::size_t i = begin; i < end; ++i) v[sum.indices[i]] += factor * sum.values[i];
      }
    });
  }

  Gradient gradient_;
  std::vector<std::uint32_t> order_;
  std::uint64_t steps_ = 1;                 // of an epoch
};

}  // namespace

Result<std::unique_ptr<Solver>> make_sgd(Engine& engine, const Dataset& data,
                                         const SolverSettings& settings, Workers& workers) {
  return prepared<Sgd>(engine, data, settings, workers);
}

}  // namespace unisono::opt
