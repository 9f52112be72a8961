// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "cost/links.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace unisono::cost {
namespace {

TEST(LinkCost, GoesInStraightLinesThroughItsPointsAndBeyondThem) {
  const LinkCost link{{1e-6, 2e-6, 10e-6, 40e-6, 160e-6}};
  EXPECT_EQ(link.seconds(0), 1e-6);
  EXPECT_EQ(link.seconds(8), 1e-6);
  for (std::size_t i = 0; i < kPointBytes.size(); ++i) {
    EXPECT_DOUBLE_EQ(link.seconds(static_cast<double>(kPointBytes[i])), link.points[i]);
  }
  EXPECT_DOUBLE_EQ(link.seconds(160 << 10), 25e-6);
  EXPECT_DOUBLE_EQ(link.seconds(640 << 10), 100e-6);
  EXPECT_DOUBLE_EQ(link.seconds(1792 << 10), 280e-6);
  EXPECT_DOUBLE_EQ(link.per_byte() * (192 << 10), 30e-6);
}

TEST(Measurements, SurviveTheWay) {
  Measurement found;
  found.seconds[1] = {1e-6, 2e-6, 3e-6, 4e-6, 5e-6};
  found.reduce_per_byte = 2e-10;
  const auto bytes = encode_measurement(found);
  const auto read = decode_measurement(bytes);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->seconds, found.seconds);
  EXPECT_EQ(read->reduce_per_byte, found.reduce_per_byte);
  EXPECT_FALSE(decode_measurement(std::span(bytes).first(bytes.size() - 1)).has_value());
  EXPECT_FALSE(decode_measurement({}).has_value());
}

TEST(AgreedCosts, AreMediansOfWhatWasMeasuredAndTypicalElsewhere) {
  std::vector<Measurement> all(4);
  for (std::size_t i = 0; i < 3; ++i) {
    all[i].seconds[2] = {static_cast<double>(i + 1) * 1e-5, 2e-5, 3e-5, 4e-5, 5e-5};
  }
  all[3].reduce_per_byte = 3e-10;
  const Costs costs = agreed_costs(all);
  EXPECT_EQ(costs.of(LinkClass::wire).points[0], 2e-5);
  EXPECT_EQ(costs.of(LinkClass::memory).points, typical_costs().of(LinkClass::memory).points);
  EXPECT_EQ(costs.reduce_per_byte, 3e-10);
}

TEST(AgreedCosts, FollowTheLineWhereNobodyHadTheTime) {
  std::vector<Measurement> all(1);
  all[0].seconds[2] = {30e-6, 600e-6, 5.8e-3, 0, 0};  // 100 Mbit/s
  const LinkCost wire = agreed_costs(all).of(LinkClass::wire);
  EXPECT_NEAR(wire.seconds(64 << 20), 5.8, 0.2);
}

TEST(Costs, OfStepsThatTakeLongerAreMoreForEveryMessage) {
  Costs costs = typical_costs();
  costs.refine_steps(LinkClass::wire, 50e-6);
  EXPECT_DOUBLE_EQ(costs.of(LinkClass::wire).latency(), 50e-6);
  EXPECT_DOUBLE_EQ(costs.of(LinkClass::wire).points[4], 9010e-6);
  EXPECT_EQ(costs.of(LinkClass::loopback).points, typical_costs().of(LinkClass::loopback).points);
  costs.refine_steps(LinkClass::wire, 1e-6);
  EXPECT_DOUBLE_EQ(costs.of(LinkClass::wire).latency(), 50e-6) << "never less than the message";
}

TEST(AgreedCosts, LeaveOutWhatCannotBeATime) {
  std::vector<Measurement> all(3);
  all[0].seconds[0] = {std::numeric_limits<double>::quiet_NaN(), -1, 1e9, 5e-6};
  all[1].seconds[0] = {3e-6, 0, 0, 0};
  const Points points = agreed_costs(all).of(LinkClass::memory).points;
  EXPECT_EQ(points[0], 3e-6);
  for (std::size_t i = 1; i < points.size(); ++i) EXPECT_GE(points[i], points[i - 1]);
}

TEST(LinkCost, ABurstPassesOnceHoweverManyMessagesFollow) {
  LinkCost shaped;  // 128 KiB at once, then 8 ns for each byte
  for (std::size_t i = 0; i < kPointBytes.size(); ++i) {
    const double after = static_cast<double>(kPointBytes[i]) - (128 << 10);
    shaped.points[i] = 20e-6 + std::max(after, 0.0) * 8e-9;
  }
  EXPECT_DOUBLE_EQ(shaped.in_turn(1, 256 << 10), shaped.seconds(256 << 10));
  EXPECT_NEAR(shaped.in_turn(4, 256 << 10), 4 * 20e-6 + ((1 << 20) - (128 << 10)) * 8e-9, 1e-6);
  // What has no burst takes as long as each by itself.
  const LinkCost wire = typical_costs().of(LinkClass::wire);
  EXPECT_NEAR(wire.in_turn(4, 256 << 10), 4 * wire.seconds(256 << 10), 0.01 * wire.seconds(1 << 20));
  EXPECT_EQ(wire.in_turn(0, 1), 0);
}

}  // namespace
}  // namespace unisono::cost
