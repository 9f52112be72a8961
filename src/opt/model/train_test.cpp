// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "opt/model/train.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "opt/exchange/registry.hpp"
#include "opt/job/random.hpp"
#include "opt/job/text.hpp"
#include "opt/testing/ranks.hpp"

namespace unisono::opt {
namespace {

using testing::HasSubstr;

// A small problem with a known cure: 30 columns, 5 of them in a row, labels from weights by turns.
std::string small_problem(std::uint64_t rows, std::uint64_t seed) {
  std::string text;
  for (std::uint64_t i = 0; i < rows; ++i) {
    Random random(mixed(seed, i));
    std::string pairs;
    double margin = 0.3;
    for (std::uint64_t k = 0; k < 5; ++k) {
      const std::uint64_t column = 6 * k + random.below(6);
      const auto value = static_cast<float>(0.5 + random.uniform());
      margin += (column % 2 == 0 ? 1.2 : -1.2) * value;
      pairs += text_of(" ", column + 1, ":", value);
    }
    text += text_of(random.uniform() < 1 / (1 + std::exp(-2 * margin)) ? "1" : "0", pairs, "\n");
  }
  return text;
}

class Training : public testing::Test {
 protected:
  // The result of rank 0, after checking that all ranks have the same weights.
  Trained trained(int ranks, const TrainSettings& settings) {
    std::vector<Trained> all(static_cast<std::size_t>(ranks));
    run_ranks(ranks, [&](Engine& engine) {
      auto data = load(engine, {.path = path_, .threads = settings.threads});
      ASSERT_TRUE(data.ok()) << data.status().message();
      LoadSettings tried{.path = held_};
      tried.labels = data->labels;
      tried.width = data->rows.width;
      auto held = load(engine, tried);
      ASSERT_TRUE(held.ok()) << held.status().message();
      auto result = train(engine, *data, &*held, settings, {});
      ASSERT_TRUE(result.ok()) << result.status().message();
      all[static_cast<std::size_t>(engine.rank())] = std::move(*result);
    });
    for (const Trained& each : all) EXPECT_EQ(each.model.weights, all[0].model.weights);
    return all[0];
  }
  static TrainSettings settings(SolverKind kind, Loss loss, int epochs) {
    TrainSettings made;
    made.solver.kind = kind;
    made.solver.loss = loss;
    made.solver.l2 = 1e-3;
    made.solver.batch = 50;
    made.solver.coordinates = 4;
    made.solver.rate = {Schedule::constant, loss == Loss::logistic ? 1.5 : 0.1, 1, 1};
    made.epochs = epochs;
    made.intercept = true;
    return made;
  }

  const Folder folder_;
  const std::string path_ = folder_.file("data.svm", small_problem(1200, 1));
  const std::string held_ = folder_.file("held.svm", small_problem(800, 2));
};

TEST_F(Training, BothSolversFindTheSameMinimumOnAnyNumberOfRanks) {
  double best = 1;
  for (const int ranks : {1, 2, 3}) {
    const Trained sgd = trained(ranks, settings(SolverKind::sgd, Loss::logistic, 40));
    const Trained scd = trained(ranks, settings(SolverKind::scd, Loss::logistic, 40));
    best = std::min(best, scd.epochs.back().loss);
    EXPECT_NEAR(sgd.epochs.back().loss, best, 0.01) << ranks;
    EXPECT_NEAR(scd.epochs.back().loss, best, 0.003) << ranks;
    EXPECT_GT(sgd.epochs.back().accuracy, 0.9);
    EXPECT_NEAR(*sgd.epochs.back().held_accuracy, *scd.epochs.back().held_accuracy, 0.02);
  }
}

TEST_F(Training, TheRateThatSuitsTheDataDoesSoAtAnyScale) {
  for (const Loss loss : {Loss::logistic, Loss::hinge}) {
    TrainSettings made = settings(SolverKind::sgd, loss, 40);
    made.solver.rate = {};
    const Trained found = trained(2, made);
    EXPECT_GT(found.rate, 0.1);
    EXPECT_LT(found.rate, 10);
    EXPECT_GT(*found.epochs.back().held_accuracy, 0.89) << name_of(loss);
  }
}

TEST_F(Training, CoordinateDescentNeverGoesUpAlone) {
  const Trained scd = trained(1, settings(SolverKind::scd, Loss::logistic, 20));
  for (std::size_t i = 1; i < scd.epochs.size(); ++i) {
    EXPECT_LE(scd.epochs[i].loss, scd.epochs[i - 1].loss + 1e-9);
  }
}

TEST_F(Training, TheHingeIsMinimisedToo) {
  const Trained sgd = trained(2, settings(SolverKind::sgd, Loss::hinge, 60));
  const Trained scd = trained(2, settings(SolverKind::scd, Loss::hinge, 60));
  EXPECT_NEAR(sgd.epochs.back().loss, scd.epochs.back().loss, 0.02);
  EXPECT_GT(*sgd.epochs.back().held_accuracy, 0.88);
  EXPECT_NEAR(*sgd.epochs.back().held_accuracy, *scd.epochs.back().held_accuracy, 0.02);
}

TEST_F(Training, HasTheSameBitsAgainAndWithOtherThreads) {
  for (const SolverKind kind : {SolverKind::sgd, SolverKind::scd}) {
    for (const bool async : {false, true}) {
      TrainSettings made = settings(kind, Loss::logistic, 3);
      made.solver.async = async;
      const Trained first = trained(2, made), second = trained(2, made);
      made.threads = 3;
      const Trained threaded = trained(2, made);
      EXPECT_EQ(first.model.weights, second.model.weights);
      EXPECT_EQ(first.model.weights, threaded.model.weights);
      EXPECT_EQ(first.epochs.back().loss, threaded.epochs.back().loss);
      made.solver.seed = 2;
      EXPECT_NE(first.model.weights, trained(2, made).model.weights);
    }
  }
}

TEST_F(Training, EveryExchangeLeadsToTheSameModel) {
  for (const SolverKind kind : {SolverKind::sgd, SolverKind::scd}) {
    std::vector<float> first;
    for (const ExchangeRow& row : exchange_rows()) {
      TrainSettings made = settings(kind, Loss::logistic, 3);
      made.solver.exchange = row.name;
      const Trained found = trained(3, made);
      EXPECT_EQ(found.exchange, row.name);
      EXPECT_GT(found.epochs.back().bytes, 0);
      if (first.empty()) first = found.model.weights;
      ASSERT_EQ(found.model.weights.size(), first.size());
      for (std::size_t j = 0; j < first.size(); ++j) {
        EXPECT_NEAR(found.model.weights[j], first[j], 1e-4) << row.name;
      }
    }
  }
}

TEST_F(Training, OneStepStaleArrivesAtTheSameLoss) {
  for (const SolverKind kind : {SolverKind::sgd, SolverKind::scd}) {
    TrainSettings made = settings(kind, Loss::logistic, 30);
    const Trained waiting = trained(2, made);
    made.solver.async = true;
    const Trained stale = trained(2, made);
    EXPECT_NE(stale.model.weights, waiting.model.weights);
    EXPECT_NEAR(stale.epochs.back().loss, waiting.epochs.back().loss, 0.005);
  }
}

TEST_F(Training, ARankWithoutRowsTakesPart) {
  const std::string few = folder_.file("few.svm", "1 1:1\n0 2:1\n");
  for (const SolverKind kind : {SolverKind::sgd, SolverKind::scd}) {
    run_ranks(5, [&](Engine& engine) {
      auto data = load(engine, {.path = few});
      ASSERT_TRUE(data.ok());
      auto result = train(engine, *data, nullptr, settings(kind, Loss::logistic, 30), {});
      ASSERT_TRUE(result.ok()) << result.status().message();
      EXPECT_EQ(result->epochs.back().accuracy, 1);
      EXPECT_FALSE(result->epochs.back().held_accuracy.has_value());
    });
  }
}

TEST_F(Training, ARateThatIsTooLargeIsToldNotWritten) {
  TrainSettings made = settings(SolverKind::sgd, Loss::logistic, 5);
  made.solver.rate.rate = 2000;
  run_ranks(2, [&](Engine& engine) {
    auto data = load(engine, {.path = path_});
    ASSERT_TRUE(data.ok());
    const auto result = train(engine, *data, nullptr, made, {});
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(result.status().message(), HasSubstr("is not below 1"));
  });
}

TEST(ModelFile, IsReadAsItWasWritten) {
  const Folder folder;
  LinearModel model{Loss::hinge, {0, 3}, true, {0, 1.5f, 0.1f, 0, -3e-20f, 7}};
  ASSERT_TRUE(write_model(folder.in("m"), model).ok());
  const auto read = read_model(folder.in("m"));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read.value().weights, model.weights);
  EXPECT_EQ(read.value().loss, Loss::hinge);
  EXPECT_EQ(read.value().labels.low, 0);
  EXPECT_EQ(read.value().labels.high, 3);
  EXPECT_EQ(read.value().features(), 5u);
  const std::vector<std::uint32_t> columns{1, 5, 9};
  const std::vector<float> values{2, 100, 100};
  EXPECT_EQ(read.value().decision({columns, values}), 2 * 1.5 + 7) << "unknown columns are nothing";
  EXPECT_EQ(read.value().label_for(0.1), 3);
  EXPECT_EQ(read.value().label_for(-0.1), 0);
}

TEST(ModelFile, ThatIsDamagedIsRefusedAtEveryByte) {
  const std::string good = model_text({Loss::logistic, {-1, 1}, false, {1, 0, 2.5f}});
  ASSERT_TRUE(parse_model(good).ok());
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    EXPECT_FALSE(parse_model(bad).ok()) << bad;
    if (at + 1 < good.size()) {
      EXPECT_FALSE(parse_model(good.substr(0, at)).ok()) << at;
    }
  }
  EXPECT_THAT(parse_model("hello").status().message(), HasSubstr("this is no model"));
  EXPECT_THAT(read_model("/nowhere/m").status().message(), HasSubstr("No such file"));
}

}  // namespace
}  // namespace unisono::opt
