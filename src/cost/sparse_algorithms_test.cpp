// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// That the bytes are those of the machines is tested in move/sparse/testing.
#include "cost/sparse_algorithms.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "cost/algorithms.hpp"

namespace unisono::cost {
namespace {

// A network of so many bytes in a second.
Costs network(double latency_s, double bytes_per_s) {
  Costs costs = typical_costs();
  for (auto& link : costs.links) {
    for (std::size_t i = 0; i < kPointBytes.size(); ++i) {
      link.points[i] = latency_s + static_cast<double>(kPointBytes[i]) / bytes_per_s;
    }
  }
  return costs;
}

SparseCase uniform(int n, std::uint64_t length, double density) {
  SparseCase out;
  out.layout = Layout{.n = n, .hosts = n};
  out.length = length;
  out.count = uniform_supports(length, density * static_cast<double>(length), n);
  return out;
}

TEST(SparseCost, FillInOfUniformSupportsIsTheExpectedUnion) {
  const UnionCount count = uniform_supports(1000, 100, 8);
  EXPECT_NEAR(count(0, 1, 0, 1000), 100, 1e-9);
  EXPECT_NEAR(count(3, 8, 0, 1000), 1000 * (1 - std::pow(0.9, 8)), 1e-6);
  EXPECT_NEAR(count(0, 2, 0, 500), 500 * (1 - 0.81), 1e-9);
  EXPECT_EQ(uniform_supports(1000, 2000, 4)(0, 1, 0, 1000), 1000);
  EXPECT_EQ(uniform_supports(0, 0, 4)(0, 1, 0, 0), 0);
}

// N = 2^24, one element in 128, eight members, by bytes over a dense ring.
TEST(SparseCost, BytesOfTheUsualCaseAreWhatTheirFormatsGive) {
  const SparseCase what = uniform(8, 1 << 24, 1.0 / 128);
  const double dense = sent_by_sparse("dense", what);
  const auto ratio = [&](std::string_view name) { return dense / sent_by_sparse(name, what); };
  // Indices within blocks take half the bytes of plain ones, so all of these are above what pairs
  // of 8 bytes would come to.
  EXPECT_GT(ratio("ssar_recursive_double"), 16);
  EXPECT_GT(ratio("ssar_split_allgather"), 14.6);
  EXPECT_GT(ratio("sparse_ring"), 10.9);
  EXPECT_NEAR(ratio("dsar_split_allgather"), 1.97, 0.02);
  SparseCase packed = what;
  packed.gathered_bytes_per_value = 0.5 + 4.0 / 1024;
  EXPECT_NEAR(dense / sent_by_sparse("dsar_split_allgather", packed), 14, 1);
}

TEST(SparseCost, DenseIsAlwaysACandidateAndLossyOnesOnlyWhereAllowed) {
  const SparseCase what = uniform(8, 1 << 20, 0.01);
  const auto has = [](const std::vector<SparseCandidate>& all, std::string_view name) {
    return std::any_of(all.begin(), all.end(),
                       [&](const SparseCandidate& one) { return one.algorithm == name; });
  };
  SparseCase with_k = what;
  with_k.k = 1000;
  const auto plain = choose_sparse(with_k, {}, network(50e-6, 125e6));
  EXPECT_TRUE(has(plain, "dense"));
  EXPECT_FALSE(has(plain, "oktopk"));
  EXPECT_FALSE(has(plain, "identical"));
  EXPECT_FALSE(has(plain, "sparse_allgather"));
  EXPECT_FALSE(has(plain, "hierarchical"));
  const auto all = choose_sparse(with_k, {.topk = true, .supports_may_agree = true},
                                 network(50e-6, 125e6));
  EXPECT_TRUE(has(all, "oktopk"));
  EXPECT_TRUE(has(all, "identical"));
  EXPECT_TRUE(has(all, "dense"));
  for (std::size_t i = 1; i < all.size(); ++i) {
    EXPECT_LE(all[i - 1].predicted_s, all[i].predicted_s);
  }
}

TEST(SparseCost, TheChoiceFollowsWhatDominates) {
  const auto best = [](const SparseCase& what, const Costs& costs, SparseAllowed allowed = {}) {
    return choose_sparse(what, allowed, costs).front().algorithm;
  };
  // Latency alone: few rounds. Bytes of indices in common: the split. A dense sum: dense slices.
  // Fast wires: dense.
  EXPECT_EQ(best(uniform(16, 1 << 16, 0.0005), network(1e-3, 1e9)), "ssar_recursive_double");
  SparseCase alike = uniform(8, 1 << 24, 1.0 / 128);
  alike.count = identical_supports(alike.length, static_cast<double>(alike.length) / 128);
  EXPECT_EQ(best(alike, network(50e-6, 12.5e6)), "ssar_split_allgather");
  EXPECT_EQ(best(uniform(8, 1 << 22, 0.2), network(50e-6, 12.5e6)), "dsar_split_allgather");
  EXPECT_EQ(best(uniform(4, 1 << 20, 0.5), network(1e-6, 100e9)), "dense");
  SparseCase packed = uniform(8, 1 << 22, 0.2);
  packed.gathered_bytes_per_value = 0.25;
  EXPECT_EQ(best(packed, network(50e-6, 12.5e6), {.codec = true}), "dsar_split_allgather");
  EXPECT_LT(predict_sparse("dsar_split_allgather", packed, network(50e-6, 12.5e6)),
            predict_sparse("dsar_split_allgather", uniform(8, 1 << 22, 0.2),
                           network(50e-6, 12.5e6)));
}

// A CPU that adds up vectors ten times as fast does not merge streams any faster.
TEST(SparseCost, MergingIsPricedByItself) {
  const SparseCase what = uniform(8, 1 << 24, 1.0 / 128);
  Costs fast = network(50e-6, 125e6);
  fast.reduce_per_byte = fast.reduce_per_byte / 10;
  for (const Costs& costs : {network(50e-6, 125e6), fast}) {
    // At 1 Gbit/s doubling sends a tenth less, and merges every element of the sum again and again.
    EXPECT_EQ(choose_sparse(what, {}, costs).front().algorithm, "ssar_split_allgather");
    Costs no_work = costs;
    no_work.merge_per_pair = 0;
    EXPECT_EQ(choose_sparse(what, {}, no_work).front().algorithm, "ssar_recursive_double");
  }
  Costs slow = fast;
  slow.merge_per_pair = 2 * fast.merge_per_pair;
  EXPECT_NEAR(predict_sparse("ssar_recursive_double", what, slow) -
                  predict_sparse("ssar_recursive_double", what, fast),
              2 * (131072 + 261120 + 518180) * fast.merge_per_pair, 5e-5);
}

// 128 KiB pass at once, and come back only while nothing is sent.
TEST(SparseCost, ABurstPassesOnce) {
  Costs bursts = network(50e-6, 125e6);
  const double free = (128 << 10) / 125e6;
  for (auto& link : bursts.links) {
    for (std::size_t i = 0; i < kPointBytes.size(); ++i) {
      link.points[i] = std::max(50e-6, link.points[i] - free);
    }
  }
  const SparseCase what = uniform(8, 1 << 24, 1.0 / 128);
  for (const std::string_view name : {"ssar_recursive_double", "ssar_split_allgather",
                                      "sparse_ring", "dsar_split_allgather"}) {
    const double saved = predict_sparse(name, what, network(50e-6, 125e6)) -
                         predict_sparse(name, what, bursts);
    EXPECT_LT(saved, free + 1e-5) << name;
    EXPECT_GT(saved, free / 2) << name << ", whose first message may be shorter than that";
  }
}

TEST(SparseCost, IdenticalSupportsAskFirstAndRunWhatTheRuleSays) {
  SparseCase alike = uniform(8, 1 << 24, 1.0 / 128);
  const double k = static_cast<double>(alike.length) / 128;
  alike.count = identical_supports(alike.length, k);
  const Costs costs = network(50e-6, 125e6);
  const double best = predict_sparse("identical", alike, costs);
  alike.dense_rule = [](std::size_t bytes) {
    EXPECT_EQ(bytes, std::size_t{131072 * 4});
    return std::string_view("recursive_doubling");
  };
  const double by_rule = predict_sparse("identical", alike, costs);
  const double alone = predict_allreduce("recursive_doubling", alike.layout, 131072 * 4, costs);
  EXPECT_GT(by_rule, best) << "another algorithm would be better, but does not run";
  EXPECT_GT(by_rule, alone + costs.of(LinkClass::wire).latency() + 0.1 * k * costs.merge_per_pair)
      << "the others' hashes, and what they take to make";
}

TEST(SparseCost, OneMemberCostsNothing) {
  EXPECT_EQ(predict_sparse("ssar_split_allgather", uniform(1, 1000, 0.1), typical_costs()), 0);
  EXPECT_EQ(sent_by_sparse("ssar_split_allgather", uniform(1, 1000, 0.1)), 0);
  EXPECT_EQ(sent_by_sparse("ssar_recursive_double", uniform(1, 1000, 0.1)), 0);
}

}  // namespace
}  // namespace unisono::cost
