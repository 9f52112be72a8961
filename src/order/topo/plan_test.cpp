// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/topo/plan.hpp"

#include <gtest/gtest.h>

#include "order/topo/testing/steps.hpp"

namespace unisono::order {
namespace {

TEST(TopoPlan, CarriesMethodsThatItsTensorsAllow) {
  Request tensor = tensor_request("a");
  tensor.plan_codecs = "fp16,bf16";
  const auto decoded = [&](const BucketMethod& method) {
    ByteWriter bytes;
    TopoPlan({{tensor}}, {method}).encode(bytes);
    ByteReader in(bytes.bytes());
    return TopoPlan::decode(in, 0, 2);
  };
  const auto plan = decoded({1, "ring", "bf16"});
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(plan->method(0), (BucketMethod{1, "ring", "bf16"}));
  EXPECT_NE(plan->hash(), decoded({1, "ring", "fp16"})->hash());
  EXPECT_NE(plan->hash(), decoded({1, "", "bf16"})->hash());
  EXPECT_EQ(decoded({2, "ring", "bf16"}), nullptr);
  EXPECT_EQ(decoded({0, "rung", ""}), nullptr);
  EXPECT_EQ(decoded({0, "", "morse"}), nullptr);
  tensor.plan_codecs.clear();
  EXPECT_EQ(decoded({0, "", "bf16"}), nullptr);
  tensor.op = ReduceOp::adasum;
  EXPECT_EQ(decoded({0, "ring", ""}), nullptr);
}

TEST(TopoPlan, DecodesOnlyWholeValidPlans) {
  std::vector<std::vector<Request>> buckets = {{tensor_request("a"), tensor_request("b")},
                                               group_request("g", {"c", "d"})};
  const TopoPlan plan(buckets);
  ByteWriter out;
  plan.encode(out);
  ByteReader whole(out.bytes());
  const auto again = TopoPlan::decode(whole, 0);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->hash(), plan.hash());
  for (std::size_t n = 0; n < out.size(); ++n) {
    ByteReader cut(out.bytes().first(n));
    EXPECT_EQ(TopoPlan::decode(cut, 0), nullptr);
  }
  const auto refused = [](std::vector<std::vector<Request>> bad) {
    ByteWriter bytes;
    TopoPlan(std::move(bad)).encode(bytes);
    ByteReader in(bytes.bytes());
    return TopoPlan::decode(in, 0) == nullptr;
  };
  Request wide = tensor_request("b");
  wide.dtype = DType::f64;
  EXPECT_TRUE(refused({{tensor_request("a"), wide}}));
  EXPECT_TRUE(refused({{tensor_request("a")}, {tensor_request("a")}}));
  EXPECT_TRUE(refused({{kind_request("a", Collective::barrier)}}));
  EXPECT_FALSE(refused({{kind_request("a", Collective::broadcast)}}));
  EXPECT_TRUE(refused({{kind_request("a", Collective::broadcast),
                        kind_request("b", Collective::broadcast)}}));
  EXPECT_TRUE(refused({{kind_request("a", Collective::allgather)}}));  // without rows
  EXPECT_TRUE(refused({{group_request("g", {"c", "d"})[0]}}));
  ByteReader other(out.bytes());
  EXPECT_EQ(TopoPlan::decode(other, 3), nullptr);
}

// What is read before the buckets is a number that anybody may have sent: no room is made for more
// buckets than the bytes behind it can be.
TEST(TopoPlan, RefusesMoreBucketsThanItsBytesHold) {
  constexpr std::uint32_t kBuckets = 1000;
  ByteWriter bytes;
  bytes.put(kBuckets);
  bytes.put(std::uint32_t{7});              // a channel that there is not, which ends the reading
  for (std::uint32_t i = 0; i < kBuckets; ++i) bytes.put(std::uint32_t{0});
  ByteReader in(bytes.bytes());
  EXPECT_EQ(TopoPlan::decode(in, 0, 2), nullptr);
  EXPECT_FALSE(in.ok()) << "buckets were read";
}

}  // namespace
}  // namespace unisono::order
