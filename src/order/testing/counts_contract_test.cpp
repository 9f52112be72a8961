// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What every ordering strategy promises about the counts of sparse collectives: every member learns
// the most and the sum of what all have said, or, where nobody is asked, what was agreed before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "order/testing/contract.hpp"

namespace unisono::order {
namespace {

Request counted(std::uint64_t nnz) {
  Request request = tensor_request("x", {1000});
  request.kind = Collective::sparse_allreduce;
  request.sparse.nnz = nnz;
  return request;
}

class OrderCountsContract : public OrderContract {};

TEST_P(OrderCountsContract, TheMostAndTheSumAreAgreed) {
  for (const int members : {1, 2, 5, 9}) {
    VirtualNet n = net(members);
    // Some have as many as others, which trees merge on the way.
    std::uint64_t most = 0, sum = 0;
    for (int i = 0; i < members; ++i) {
      const auto nnz = static_cast<std::uint64_t>(i / 3) * 100 + 8;
      most = std::max(most, nnz);
      sum += nnz;
      n.submit(i, counted(nnz));
    }
    n.settle();
    expect_same_logs(n);
    for (int i = 0; i < members; ++i) {
      ASSERT_EQ(n.flat(i).size(), 1u);
      const Response response = n.flat(i)[0];
      ASSERT_TRUE(response.error.ok()) << response.error.to_string();
      EXPECT_EQ(response.tensors[0].sparse.nnz, most) << members;
      EXPECT_EQ(response.tensors[0].sparse.nnz_sum, sum) << members;
    }
  }
}

TEST_P(OrderCountsContract, ManyStepsAgreeOnWhatSomeStepSaid) {
  VirtualNet n = net(4);
  for (std::uint64_t step = 0; step < 30; ++step) {
    for (int i = 0; i < 4; ++i) {
      const auto nnz = step % 7 == 0 ? 64u : 8u;
      n.submit(i, counted(nnz + static_cast<std::uint64_t>(i)));
    }
    n.settle();
  }
  expect_same_logs(n);
  for (int i = 0; i < 4; ++i) {
    std::size_t seen = 0;
    for (const Response& response : n.flat(i)) {
      ASSERT_TRUE(response.error.ok()) << response.error.to_string();
      const SparseAsk& ask = response.tensors[0].sparse;
      const bool large = ask.nnz == 67 && ask.nnz_sum == 64 + 65 + 66 + 67;
      const bool small = ask.nnz == 11 && ask.nnz_sum == 8 + 9 + 10 + 11;
      EXPECT_TRUE(large || small) << ask.nnz << " " << ask.nnz_sum;
      ++seen;
    }
    EXPECT_GE(seen, 30u);
  }
}

TEST_P(OrderCountsContract, DifferentSettingsAreRefusedAndDifferentCountsAreNot) {
  VirtualNet n = net(3);
  for (int i = 0; i < 3; ++i) {
    Request request = counted(static_cast<std::uint64_t>(i) * 10);
    request.sparse.algorithm = i == 1 ? "dense" : "";
    n.submit(i, request);
  }
  n.settle();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(n.flat(i).size(), 1u);
    const std::string message = n.flat(i)[0].error.message();
    EXPECT_THAT(message, testing::HasSubstr("Mismatched SPARSE_ALLREDUCE settings"));
    EXPECT_THAT(message, testing::HasSubstr("rank 12: algorithm=dense"));
  }
}

TEST_P(OrderCountsContract, JoinedMembersHaveNoElements) {
  VirtualNet n = net(3);
  n.submit(1, kind_request("join", Collective::join));
  n.submit(0, counted(10));
  n.submit(2, counted(30));
  n.settle();
  ASSERT_EQ(n.flat(1).size(), 1u);
  const Response response = n.flat(1)[0];
  ASSERT_TRUE(response.error.ok()) << response.error.to_string();
  EXPECT_EQ(response.absent, (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(response.tensors[0].sparse.nnz, 30u);
  EXPECT_EQ(response.tensors[0].sparse.nnz_sum, 40u);
}

INSTANTIATE_TEST_SUITE_P(All, OrderCountsContract, testing::ValuesIn(kOrderCases),
                         case_name);

}  // namespace
}  // namespace unisono::order
