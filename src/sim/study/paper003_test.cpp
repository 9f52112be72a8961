// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/study/paper003.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace unisono::sim {
namespace {

std::int64_t parameters(const K80Iteration& iteration) {
  std::int64_t bytes = 0;
  for (const plan::IterationTensor& tensor : iteration.tensors) bytes += tensor.bytes;
  return bytes / 4;
}

TEST(Paper003, ModelsHaveThePublishedNumbersOfParameters) {
  const K80Cluster cluster;
  for (const auto& [sent, count] : {std::pair{SentAsOne::weights, 54U},
                                           std::pair{SentAsOne::layers, 107U},
                                           std::pair{SentAsOne::tensors, 161U}}) {
    const K80Iteration resnet = k80_resnet50(cluster, sent);
    EXPECT_EQ(resnet.tensors.size(), count);
    EXPECT_EQ(parameters(resnet), 25'557'032);
    EXPECT_NEAR(resnet.tensors.back().ready_s, resnet.compute_s, 1e-12);
  }
  const K80Iteration googlenet = k80_googlenet(cluster);
  EXPECT_EQ(googlenet.tensors.size(), 64U);
  EXPECT_EQ(parameters(googlenet), 13'378'280);
  EXPECT_NEAR(googlenet.tensors.back().ready_s, googlenet.compute_s, 1e-12);
}

// Every row that has a published value, with the error that it really has: docs/SIMULATOR.md.
struct Expected {
  const char* figure;
  double simulated, error_max;
};
constexpr Expected kExpected[] = {
    {"ResNet-50 at 64: merged over wfbp", 1.53, 0.14},
    {"ResNet-50 at 64: merged over single", 1.26, 0.14},
    {"GoogleNet at 64: merged over wfbp", 1.24, 0.31},
    {"GoogleNet at 64: merged over single", 1.18, 0.14},
    {"ResNet-50 at 8: merged over wfbp", 1.00, 0.18},
    {"ResNet-50 at 8: merged over single", 1.24, 0.10},
    {"GoogleNet at 8: merged over wfbp", 1.00, 0.18},
    {"GoogleNet at 8: merged over single", 1.16, 0.16},
    {"ResNet-50 at 64: efficiency, wfbp", 0.65, 0.19},
    {"ResNet-50 at 64: efficiency, single", 0.78, 0.44},
    {"ResNet-50 at 64, 54 weight layers: merged over wfbp", 1.07, 0.40},
    {"ResNet-50 at 64, 161 tensors: merged over wfbp", 2.00, 0.15},
    {"fitted, ResNet-50 at 64: merged over wfbp", 2.37, 0.36},
    {"fitted, GoogleNet at 64: merged over wfbp", 1.88, 0.07},
    {"fitted, GoogleNet at 64: merged over single", 1.31, 0.04},
    {"fitted, ResNet-50 at 8: merged over wfbp", 1.00, 0.18},
    {"fitted, ResNet-50 at 8: merged over single", 1.41, 0.04},
    {"fitted, GoogleNet at 8: merged over wfbp", 1.00, 0.18},
    {"fitted, GoogleNet at 8: merged over single", 1.28, 0.07},
    {"fitted, ResNet-50 at 64, 54 weight layers: merged over wfbp", 1.58, 0.10},
    {"fitted, ResNet-50 at 64, 161 tensors: merged over wfbp", 3.17, 0.82},
    {"allreduce of 0 KB on 2 nodes", 0.0905, 0},  // fitted to this one
    {"allreduce of 0 KB on 4 nodes", 0.2716, 0.001},
    {"allreduce of 0 KB on 8 nodes", 0.6336, 0.001},
    {"allreduce of 200 KB on 8 nodes", 0.934, 0.39},
    {"allreduce of 400 KB on 8 nodes", 1.234, 0.32},
};

TEST(Paper003, EveryRowIsAsFarFromThePublishedValueAsTheDocsSay) {
  const Study study = run_study("paper003", {}).value();
  std::size_t published = 0;
  for (const StudyRow& row : study.rows) {
    if (!row.published) continue;
    ++published;
    const auto* found = std::find_if(std::begin(kExpected), std::end(kExpected),
                                     [&](const Expected& e) { return row.figure == e.figure; });
    ASSERT_NE(found, std::end(kExpected)) << row.figure;
    EXPECT_NEAR(row.simulated, found->simulated, 0.0051) << row.figure;
    EXPECT_LE(std::abs(row.error()), found->error_max) << row.figure;
  }
  EXPECT_EQ(published, std::size(kExpected));
}

TEST(Paper003, FindsWhatThePaperFinds) {
  const K80Cluster cluster;
  for (const K80Iteration& each :
       {k80_resnet50(cluster, SentAsOne::layers), k80_googlenet(cluster)}) {
    const auto seconds = [&](int nodes, const char* planner) {
      return k80_seconds(cluster, each, nodes, planner);
    };
    for (const int nodes : {2, 4, 8, 16, 32, 64}) {
      for (const char* planner : {"wfbp", "single", "merged-greedy", "naive"}) {
        EXPECT_LE(seconds(nodes, "merged"), seconds(nodes, planner) * (1 + 1e-12));
      }
    }
    // Sending layer by layer is better on few nodes and worse on many.
    EXPECT_LT(seconds(4, "wfbp"), seconds(4, "single"));
    EXPECT_GT(seconds(64, "wfbp"), seconds(64, "single"));
    // Merged scales almost linearly.
    EXPECT_GT(each.compute_s / seconds(64, "merged"), 0.98);
  }
}

}  // namespace
}  // namespace unisono::sim
