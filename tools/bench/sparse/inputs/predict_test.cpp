// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/sparse/inputs/predict.hpp"

#include <gtest/gtest.h>

#include "bench/sparse/inputs/counts.hpp"
#include "move/sparse/sparse.hpp"

namespace unisono::tools {
namespace {

PredictedNetwork eight_hosts() {
  PredictedNetwork out{{}, cost::typical_costs()};
  out.layout.n = out.layout.hosts = 8;
  out.layout.apart = 56;
  return out;
}

constexpr PredictedVector kVector{1 << 24, 1 << 17, DType::f32};

// docs/COMPRESSION.md has these figures, for 2^24 elements of which each of 8 ranks has 1 in 128.
TEST(SparsePrediction, BytesAreThoseOfTheClosedForms) {
  const auto uniform = expected_counts({Support::uniform, 1 << 24, 1 << 17, 8, 1});
  const double dense = predicted_dense("ring", kVector, eight_hosts()).bytes;
  EXPECT_NEAR(dense, 2.0 * 7 / 8 * (1 << 26), 1);
  const auto over = [&](const char* name) {
    return dense / predicted_sparse(name, kVector, uniform, eight_hosts()).bytes;
  };
  EXPECT_NEAR(over("ssar_recursive_double"), 21.5, 0.05);
  EXPECT_NEAR(over("ssar_split_allgather"), 19.4, 0.05);
  EXPECT_NEAR(over("sparse_ring"), 14.6, 0.05);
  EXPECT_NEAR(over("dsar_split_allgather"), 1.98, 0.005);
  PredictedVector four_bits = kVector;
  four_bits.gather_bits = 4;
  const double packed =
      predicted_sparse("dsar_split_allgather", four_bits, uniform, eight_hosts()).bytes;
  EXPECT_NEAR(dense / packed, 14.5, 0.05);
}

TEST(SparsePrediction, EveryAlgorithmHasAFormAndOtherNamesHaveNone) {
  const auto uniform = expected_counts({Support::uniform, 1 << 24, 1 << 17, 8, 1});
  for (const move::SparseRow& row : move::sparse_algorithm_table()) {
    const Predicted found =
        predicted_sparse(std::string(row.name), kVector, uniform, eight_hosts());
    EXPECT_GT(found.bytes, 0) << row.name;
    EXPECT_GT(found.us, 0) << row.name;
  }
  EXPECT_EQ(predicted_sparse("of-tomorrow", kVector, uniform, eight_hosts()).bytes, 0);
  EXPECT_EQ(predicted_dense("shared memory", kVector, eight_hosts()).bytes, 0);
  PredictedNetwork alone = eight_hosts();
  alone.layout = {};
  EXPECT_EQ(predicted_sparse("sparse_ring", kVector, uniform, alone).bytes, 0);
}

}  // namespace
}  // namespace unisono::tools
