// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Losses, schedules, weights, gradients and columns, each by itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "opt/data/generate.hpp"
#include "opt/data/libsvm.hpp"
#include "opt/job/random.hpp"
#include "opt/model/columns.hpp"
#include "opt/model/gradient.hpp"
#include "opt/model/schedule.hpp"
#include "opt/testing/ranks.hpp"

namespace unisono::opt {
namespace {

using testing::ElementsAre;

Rows url_like(std::uint64_t count) {
  Rows rows;
  LabelsSeen labels;
  EXPECT_FALSE(parse_lines(generated_rows(*find_shape("url"), 4, 0, count), 0, rows, labels));
  return rows;
}

TEST(Losses, SlopesAreTheDerivatives) {
  for (const Loss loss : {Loss::logistic, Loss::hinge}) {
    for (const double margin : {-800.0, -30.0, -3.0, -0.2, 0.0, 0.3, 0.97, 1.2, 5.0, 800.0}) {
      const double h = 1e-5;
      const double numeric =
          (loss_value(loss, margin + h) - loss_value(loss, margin - h)) / (2 * h);
      EXPECT_NEAR(loss_slope(loss, margin), numeric, 1e-6) << name_of(loss) << " at " << margin;
      EXPECT_TRUE(std::isfinite(loss_value(loss, margin)));
    }
  }
}

TEST(Losses, TheSmoothHingeIsTheHingeOutsideItsParabola) {
  EXPECT_EQ(smooth_slope(Loss::hinge, 1.0), 0);
  EXPECT_EQ(smooth_slope(Loss::hinge, 1 - kSmoothed), -1);
  EXPECT_EQ(smooth_slope(Loss::hinge, -7), -1);
  EXPECT_NEAR(smooth_slope(Loss::hinge, 1 - kSmoothed / 2), -0.5, 1e-12);
}

TEST(Schedules, FallAsTheySay) {
  RateSettings settings{Schedule::constant, 2, 0.5, 3};
  EXPECT_EQ(rate_at(settings, 7.5), 2);
  settings.schedule = Schedule::inverse;
  EXPECT_EQ(rate_at(settings, 0), 2);
  EXPECT_EQ(rate_at(settings, 2), 1);
  settings.schedule = Schedule::step;
  EXPECT_EQ(rate_at(settings, 2.9), 2);
  EXPECT_EQ(rate_at(settings, 3), 1);
  EXPECT_EQ(rate_at(settings, 6.1), 0.5);
}

TEST(WeightsOfAModel, ShrinkAllAtOnceAndKeepTheirValues) {
  Weights weights(3);
  weights.add(0, 4);
  weights.add(2, -1);
  for (int i = 0; i < 50; ++i) weights.shrink(0.5);  // below what is folded
  EXPECT_NEAR(weights[0], 4 * 0x1p-50, 1e-20);
  weights.add(1, 1);
  EXPECT_NEAR(weights[1], 1, 1e-6);
  EXPECT_NEAR(weights.square(), 1, 1e-5);
  const std::vector<std::uint32_t> columns{0, 1};
  const std::vector<float> values{2, 3};
  EXPECT_NEAR(weights.dot({columns, values}), 3, 1e-5);
  EXPECT_NEAR(weights.values()[1], 1, 1e-6);
}

TEST(GradientOfABatch, IsTheSumAndHasTheSameBitsWhateverTheThreads) {
  const Rows rows = url_like(200);
  Weights weights(rows.width);
  Random random(1);
  for (std::uint32_t j = 0; j < rows.width; j += 3) weights.add(j, random.uniform() - 0.5);
  const std::vector<std::uint32_t> batch{5, 3, 199, 0, 77, 78, 79, 100};
  std::vector<double> expected(rows.width);
  for (const std::uint32_t i : batch) {
    const Entry row = rows.row(i);
    const double slope = loss_slope(Loss::logistic, rows.labels[i] * weights.dot(row));
    for (std::size_t k = 0; k < row.columns.size(); ++k) {
      expected[row.columns[k]] += rows.labels[i] * slope * row.values[k];
    }
  }
  std::vector<float> first;
  for (const int threads : {1, 2, 3, 8}) {
    Workers workers(threads);
    Gradient gradient(rows, workers);
    for (int turn = 0; turn < 3; ++turn) {
      const SparseView found = gradient.of(batch, weights, Loss::logistic);
      std::vector<float> dense(rows.width);
      for (std::size_t i = 0; i < found.indices.size(); ++i) {
        if (i > 0) {
          ASSERT_LT(found.indices[i - 1], found.indices[i]);
        }
        dense[found.indices[i]] = found.values[i];
      }
      if (first.empty()) first = dense;
      ASSERT_EQ(dense, first) << threads << " threads";
    }
  }
  for (std::size_t j = 0; j < expected.size(); ++j) EXPECT_NEAR(first[j], expected[j], 1e-5);
}

TEST(ColumnsOfARank, HoldEveryRowInWhichItsColumnsOccur) {
  Rows rows;
  LabelsSeen labels;
  ASSERT_FALSE(parse_lines("1 1:1 2:2\n-1 2:5\n1 1:3 4:4\n-1 3:6\n", 0, rows, labels));
  const Columns even = columns_of(rows, 0, 2), odd = columns_of(rows, 1, 2);
  EXPECT_THAT(even.labels, ElementsAre(1, 1, -1)) << "columns 0 and 2";
  EXPECT_THAT(odd.labels, ElementsAre(1, -1, 1)) << "columns 1 and 3";
  EXPECT_THAT(even.column(0).values, ElementsAre(1, 3));
  EXPECT_THAT(even.column(1).values, ElementsAre(2)) << "of the rows that are kept";
  EXPECT_THAT(even.column(2).rows, ElementsAre(2));
  EXPECT_THAT(odd.column(1).values, ElementsAre(2, 5));
  EXPECT_EQ(odd.row_max, 2u);
}

TEST(ColumnsOfARank, ComeFromTheRowsOfAllRanks) {
  const Rows all = url_like(20);
  run_ranks(3, [&](Engine& engine) {
    Rows mine;
    mine.width = all.width;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (static_cast<int>(i * 3 / all.size()) != engine.rank()) continue;
      const Entry row = all.row(i);
      mine.columns.insert(mine.columns.end(), row.columns.begin(), row.columns.end());
      mine.values.insert(mine.values.end(), row.values.begin(), row.values.end());
      mine.labels.push_back(all.labels[i]);
      mine.begins.push_back(mine.columns.size());
    }
    auto gathered = gather_rows(engine, mine);
    ASSERT_TRUE(gathered.ok()) << gathered.status().message();
    EXPECT_EQ(gathered->begins, all.begins);
    EXPECT_EQ(gathered->columns, all.columns);
    EXPECT_EQ(gathered->values, all.values);
    EXPECT_EQ(gathered->labels, all.labels);
  });
}

}  // namespace
}  // namespace unisono::opt
