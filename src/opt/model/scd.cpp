// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Stochastic coordinate descent on the primal problem. In every step each rank takes the next
// `coordinates` of its own columns, in an order that the seed, the rank and the epoch decide, and
// moves their weights one after the other to the minimum of a parabola that lies above the loss;
// the changes are exchanged, and every rank adds those of the others to the margins it keeps. An
// epoch takes every column that occurs once.
//
// Ranks do not see each other's changes of the same step. All changes are therefore divided by 1 +
// (ranks - 1) · overlap, where overlap is how many of the columns of a row another rank takes in a
// step, at most 1. At 1 it is the mean of what ranks propose, which is no worse than they are on
// average, since the problem is convex; sparse rows leave the changes nearly whole.
#include <algorithm>

#include "opt/job/agree.hpp"
#include "opt/model/columns.hpp"
#include "opt/model/stepped.hpp"

namespace unisono::opt {
namespace {

constexpr std::size_t kWorthThreads = 20'000;  // entries that are updated at once

struct Changes {
  std::vector<std::uint32_t> indices;
  std::vector<float> values;
};

class Scd final : public SteppedSolver {
 public:
  Scd(Engine& engine, const Dataset& data, const SolverSettings& settings, Workers& workers)
      : SteppedSolver(engine, data, settings, workers) {}

  Status prepare() {
    auto all = gather_rows(engine_, data_.rows);
    if (!all.ok()) return all.status();
    columns_ = columns_of(*all, engine_.rank(), engine_.size());
    *all = {};
    margins_.assign(columns_.labels.size(), 0);
    const auto ranks = static_cast<std::uint32_t>(engine_.size());
    for (auto j = static_cast<std::uint32_t>(engine_.rank()); j < data_.rows.width; j += ranks) {
      if (columns_.begins[j] != columns_.begins[j + 1]) own_.push_back(j);
      if (data_.rows.width - j <= ranks) break;
    }
    const std::uint64_t mine[2] = {own_.size(), columns_.row_max};
    const auto told = gather<std::uint64_t>(engine_, mine);
    if (!told.ok()) return told.status();
    std::uint64_t used = 0, row_max = 0;
    for (const std::vector<std::uint64_t>& each : told.value()) {
      longest_ = std::max(longest_, each.at(0));
      used += each.at(0);
      row_max = std::max(row_max, each.at(1));
    }
    const double overlap = static_cast<double>(row_max) * settings_.coordinates /
                           static_cast<double>(std::max<std::uint64_t>(used, 1));
    damping_ = 1 + (engine_.size() - 1) * std::min(1.0, overlap);
    return choose_exchange(std::min<double>(settings_.coordinates, static_cast<double>(longest_)));
  }

  Result<EpochCost> run_epoch(int epoch, const SolverProgress& progress) override {
    shuffle(own_, epoch);
    const std::uint64_t steps = (longest_ + settings_.coordinates - 1) / settings_.coordinates;
    return run_steps<int>(
        steps, progress,
        [&](std::uint64_t i, double) -> std::pair<SparseView, int> {
          Changes& mine = changes_[i % 2];
          propose(i, mine);
          return {{mine.indices, mine.values}, 0};
        },
        [&](const Total& sum, int) { apply(sum); });
  }

  double rate() const override { return 0; }

 private:
  bool is_own(std::uint32_t column) const {
    return static_cast<int>(column % static_cast<std::uint32_t>(engine_.size())) == engine_.rank();
  }

  // The changes of this rank in a step; its margins have them afterwards.
  void propose(std::uint64_t step, Changes& out) {
    out.indices.clear();
    out.values.clear();
    const std::uint64_t begin = std::min<std::uint64_t>(step * settings_.coordinates, own_.size());
    const std::uint64_t end = std::min<std::uint64_t>(begin + settings_.coordinates, own_.size());
    taken_.assign(own_.begin() + static_cast<std::ptrdiff_t>(begin),
                  own_.begin() + static_cast<std::ptrdiff_t>(end));
    std::sort(taken_.begin(), taken_.end());
    for (const std::uint32_t column : taken_) {
      const float whole = change_of(column);
      move_margins(column, whole);
      out.indices.push_back(column);
      out.values.push_back(whole);
    }
    if (damping_ == 1) return;
    for (std::size_t i = 0; i < out.indices.size(); ++i) {
      const auto part = static_cast<float>(out.values[i] / damping_);
      move_margins(out.indices[i], part - out.values[i]);
      out.values[i] = part;
    }
  }

  float change_of(std::uint32_t column) const {
    const ColumnEntry entry = columns_.column(column);
    double slope = 0, square = 0;
    for (std::size_t i = 0; i < entry.rows.size(); ++i) {
      const double label = columns_.labels[entry.rows[i]], value = entry.values[i];
      slope += smooth_slope(settings_.loss, label * margins_[entry.rows[i]]) * label * value;
      square += value * value;
    }
    const auto rows = static_cast<double>(data_.total());
    const double curvature = curvature_max(settings_.loss) * square / rows + settings_.l2;
    if (curvature == 0) return 0;
    return static_cast<float>(-(slope / rows + settings_.l2 * weights_[column]) / curvature);
  }

  void move_margins(std::uint32_t column, double change) {
    const ColumnEntry entry = columns_.column(column);
    for (std::size_t i = 0; i < entry.rows.size(); ++i) {
      margins_[entry.rows[i]] += change * entry.values[i];
    }
  }

  void apply(const Total& sum) {
    others_.clear();
    std::size_t entries = 0;
    const auto take = [&](std::uint32_t column, float change) {
      if (change == 0) return;
      weights_.add(column, change);
      if (is_own(column)) return;
      others_.push_back({column, change});
      entries += columns_.begins[column + 1] - columns_.begins[column];
    };
    for (std::size_t i = 0; i < sum.values.size(); ++i) {
      take(sum.dense ? static_cast<std::uint32_t>(i) : sum.indices[i], sum.values[i]);
    }
    if (entries < kWorthThreads) {
      for (const auto& [column, change] : others_) move_margins(column, change);
      return;
    }
    // Each thread has some of the rows, so every margin adds its changes in the same order.
    workers_.run_ranges(margins_.size(), [&](std::size_t begin, std::size_t end) {
      for (const auto& [column, change] : others_) {
        const ColumnEntry entry = columns_.column(column);
        auto at = static_cast<std::size_t>(
            std::lower_bound(entry.rows.begin(), entry.rows.end(), begin) - entry.rows.begin());
        for (; at < entry.rows.size() && entry.rows[at] < end; ++at) {
          margins_[entry.rows[at]] += static_cast<double>(change) * entry.values[at];
        }
      }
    });
  }

  Columns columns_;
  std::vector<double> margins_;             // of the rows kept, without their labels
  std::vector<std::uint32_t> own_, taken_;
  std::uint64_t longest_ = 0;               // columns of the rank that has most
  double damping_ = 1;
  Changes changes_[2];
  std::vector<std::pair<std::uint32_t, float>> others_;
};

}  // namespace

Result<std::unique_ptr<Solver>> make_scd(Engine& engine, const Dataset& data,
                                         const SolverSettings& settings, Workers& workers) {
  return prepared<Scd>(engine, data, settings, workers);
}

}  // namespace unisono::opt
