// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/sparse/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace unisono::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

SparseBenchRow sparse_row(int input, const char* collective, const char* algorithm, double us) {
  SparseBenchRow row;
  row.input = input;
  row.collective = collective;
  row.algorithm = algorithm;
  row.times_us = {us - 1, us, us + 1};
  row.turns = 3;
  row.checked = true;
  row.data_bytes = 5000;
  row.predicted_bytes = 4900;
  row.counted_bytes = 5000;
  row.predicted_us = us / 2;
  return row;
}

SparseBenchResults two_densities() {
  SparseBenchResults results;
  results.ranks = 4;
  results.transport = "tcp";
  results.integrity = "auth";
  results.emulate = "off";
  results.inputs = {{"fp32", "uniform", 0.01, 100'000, 400'000, 1000, 3940, 3940.4},
                    {"fp32", "uniform", 0.1, 100'000, 400'000, 10'000, 34'300, 34'390}};
  for (const int input : {0, 1}) {
    results.rows.push_back(sparse_row(input, "allreduce", "auto", 800));
    results.rows.push_back(sparse_row(input, "allreduce", "ring", 1000));
    results.rows.push_back(sparse_row(input, "sparse_allreduce", "auto", 100 + 300 * input));
    results.rows.back().ran = "sparse_ring";
    results.rows.push_back(sparse_row(input, "sparse_allreduce", "oktopk", 50));
    results.rows.back().lossy = true;
    results.rows.push_back({});
    results.rows.back().input = input;
    results.rows.back().collective = "sparse_allreduce";
    results.rows.back().algorithm = "dsar_split_allgather";
    results.rows.back().codec = "qsgd:4";
    results.rows.back().refused = "no codec <yet>";
  }
  return results;
}

TEST(SparseReport, TheTableComparesWithTheDenseRingOfTheSameVector) {
  const std::string text = sparse_table({}, {}, two_densities());
  EXPECT_THAT(text, HasSubstr("10.00x"));    // 1000 / 100
  EXPECT_THAT(text, HasSubstr("2.50x"));     // 1000 / 400
  EXPECT_THAT(text, HasSubstr("1.25x"));     // 1000 / 800
  EXPECT_THAT(text, HasSubstr("auto (sparse_ring)"));
  EXPECT_THAT(text, HasSubstr("3940 in the sum: 3.940 %, expected 3.940 %"));
  EXPECT_THAT(text, HasSubstr("not measured: dsar_split_allgather+qsgd:4: no codec <yet>"));
  EXPECT_THAT(text, HasSubstr("* lossy"));
  EXPECT_THAT(text, Not(HasSubstr("Ranks share memory")));
}

TEST(SparseReport, SharedMemoryAndEmulationAreSaid) {
  SparseBenchResults results = two_densities();
  results.shares_memory = true;
  results.emulate = "alpha=1ms";
  const std::string text = sparse_table({}, {}, results);
  EXPECT_THAT(text, HasSubstr("Ranks share memory"));
  EXPECT_THAT(text, HasSubstr("EMULATED on top: alpha=1ms"));
}

TEST(SparseReport, RowsHaveWhatScriptsRelyOn) {
  SparseBenchSettings settings;
  settings.command = "unisono bench sparse";
  const auto document = nlohmann::json::parse(sparse_json(settings, {}, two_densities()));
  EXPECT_TRUE(document.contains("machine"));
  EXPECT_EQ(document["command"], "unisono bench sparse");
  ASSERT_EQ(document["results"].size(), 10U);
  const auto& row = document["results"][2];
  for (const char* key : {"impl", "algorithm", "transport", "collective", "dtype", "ranks", "bytes",
                          "density", "support", "nnz", "nnz_out", "fill_in", "data_bytes",
                          "predicted_bytes", "median_us", "p10_us", "p90_us", "repetitions",
                          "checked", "over_dense"}) {
    EXPECT_TRUE(row.contains(key)) << key;
  }
  EXPECT_DOUBLE_EQ(row["over_dense"].get<double>(), 10);
  EXPECT_DOUBLE_EQ(row["fill_in"].get<double>(), 0.0394);
  EXPECT_EQ(row["ran"], "sparse_ring");
  EXPECT_EQ(document["results"][4]["refused"], "no codec <yet>");
  EXPECT_FALSE(document["results"][4].contains("median_us"));
}

TEST(SparseReport, WithoutADenseRowNothingIsComparedWithIt) {
  SparseBenchResults results = two_densities();
  std::erase_if(results.rows, [](const SparseBenchRow& row) { return row.dense(); });
  const auto document = nlohmann::json::parse(sparse_json({}, {}, results));
  EXPECT_FALSE(document["results"][0].contains("over_dense"));
  EXPECT_EQ(dense_beside(results, 0), nullptr);
}

TEST(SparseReport, ThePictureHasALineForEachAlgorithmOverDensity) {
  const std::string svg = sparse_svg({}, two_densities());
  EXPECT_THAT(svg, HasSubstr("dense, ring"));
  EXPECT_THAT(svg, HasSubstr("oktopk"));
  EXPECT_THAT(svg, HasSubstr("that each rank has"));
  EXPECT_THAT(svg, Not(HasSubstr("qsgd")));
  EXPECT_THAT(svg, HasSubstr("</svg>"));
}

TEST(SparseReport, ResultsOfRanksSurviveTheWayToTheCommand) {
  const nlohmann::json sent = two_densities();
  const auto got = nlohmann::json::parse(sent.dump()).get<SparseBenchResults>();
  ASSERT_EQ(got.rows.size(), 10U);
  EXPECT_DOUBLE_EQ(got.rows[7].median_us(), 400);
  EXPECT_EQ(got.rows[9].refused, "no codec <yet>");
  EXPECT_EQ(got.inputs[1].nnz_out, 34'300U);
}

}  // namespace
}  // namespace unisono::tools
