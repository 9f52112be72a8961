// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Sparse sums of ranks that are threads; every result is compared with what it must be.
#include "bench/sparse/turns.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "bench/sparse/arguments.hpp"
#include "bench/sparse/exchange.hpp"

namespace unisono::tools {
namespace {

using ::testing::HasSubstr;

// What each rank got.
std::vector<Result<SparseBenchResults>> measured_by(const SparseBenchSettings& settings, int ranks,
                                                    const std::string& transport) {
  Options base;
  base.transport = transport;
  std::vector<std::unique_ptr<ThreadWorld>> worlds;  // of each dense algorithm, and of the engine
  for (std::size_t i = 0; i <= settings.dense.size(); ++i) {
    worlds.push_back(std::make_unique<ThreadWorld>(ranks));
  }
  std::vector<Result<SparseBenchResults>> results(
      static_cast<std::size_t>(ranks),
      Result<SparseBenchResults>(Status(Code::internal, "nothing")));
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      auto engine = Engine::join(base, *worlds.back(), rank);
      ASSERT_TRUE(engine.ok()) << engine.status().to_string();
      const OpenLane open = [&](const Options& options, int lane) {
        return Engine::join(options, *worlds[static_cast<std::size_t>(lane)], rank);
      };
      results[static_cast<std::size_t>(rank)] = measure_sparse(settings, base, *engine, open, {});
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

SparseBenchSettings short_vectors() {
  SparseBenchSettings settings;
  for (const Support support : kSupports) {
    settings.cases.push_back({5000, DType::f32, 0.03, support});
  }
  settings.methods = known_sparse_methods();
  settings.repeat = 2;
  settings.iterations = 2;
  settings.warmup = 1;
  return settings;
}

TEST(SparseTurns, EveryAlgorithmSumsEverySupportAndSendsWhatItsFormSays) {
  const SparseBenchSettings settings = short_vectors();
  auto all = measured_by(settings, 3, "tcp");
  for (auto& each : all) ASSERT_TRUE(each.ok()) << each.status().to_string();
  const SparseBenchResults& found = all[0].value();
  ASSERT_EQ(found.inputs.size(), 4U);
  EXPECT_EQ(found.inputs[0].nnz, 150U);
  EXPECT_EQ(found.inputs[2].nnz_out, 150U);
  EXPECT_EQ(found.inputs[3].nnz_out, 450U);
  EXPECT_EQ(found.rows.size(), 4 * (2 + settings.methods.size()));
  for (const SparseBenchRow& row : found.rows) {
    ASSERT_TRUE(row.refused.empty()) << row.name() << ": " << row.refused;
    EXPECT_EQ(row.times_us.size(), 4U) << row.name();
    EXPECT_TRUE(row.checked) << row.name();
    EXPECT_GT(row.data_bytes, 0) << row.name();
    EXPECT_GE(row.data_bytes_most, row.data_bytes) << row.name();
    EXPECT_FALSE(row.ran.empty()) << row.name();
    EXPECT_GT(row.predicted_us, 0) << row.name();
  }
}

TEST(SparseTurns, ElementsOfTwoBytesAndAFullVector) {
  SparseBenchSettings settings = short_vectors();
  settings.cases = {{1001, DType::bf16, 0.2, Support::uniform}, {64, DType::i32, 1, Support::zipf}};
  settings.methods = {{"ssar_split_allgather"}, {"auto"}};
  settings.dense = {};
  auto all = measured_by(settings, 2, "auto");
  for (auto& each : all) ASSERT_TRUE(each.ok()) << each.status().to_string();
  ASSERT_EQ(all[0].value().rows.size(), 4U);
  EXPECT_EQ(all[0].value().inputs[1].nnz_out, 64U);
}

TEST(SparseTurns, WhatCannotBeDisjointIsFoundOutWhenTheNumberOfRanksIsKnown) {
  SparseBenchSettings settings = short_vectors();
  settings.cases = {{100, DType::f32, 0.5, Support::disjoint}};
  auto all = measured_by(settings, 3, "auto");
  ASSERT_FALSE(all[0].ok());
  EXPECT_THAT(all[0].status().message(), HasSubstr("none in common"));
}

TEST(SparseExchange, AnInputOfAnotherRankIsFoundInTheSum) {
  const SparseBenchCase one{4000, DType::f32, 0.05, Support::uniform};
  ThreadWorld world(2);
  std::vector<Status> sparse(2), dense(2);
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      auto engine = Engine::join({}, world, rank);
      ASSERT_TRUE(engine.ok());
      // The first rank brings what the second one should.
      SparseInputs inputs(one, one.shape(2, 3), 1, true);
      const auto sums = sparse_exchange(*engine, "sparse", {"ssar_split_allgather"}, inputs);
      ASSERT_TRUE(sums->call().ok());
      sparse[static_cast<std::size_t>(rank)] = sums->check();
      const auto whole = dense_exchange(*engine, "dense", inputs);
      EXPECT_EQ(whole->check().code(), Code::corrupted);  // nothing has been reduced
      ASSERT_TRUE(whole->call().ok());
      dense[static_cast<std::size_t>(rank)] = whole->check();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Status& each : {sparse[0], sparse[1], dense[0], dense[1]}) {
    EXPECT_EQ(each.code(), Code::corrupted);
  }
}

}  // namespace
}  // namespace unisono::tools
