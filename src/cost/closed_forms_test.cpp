// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "cost/closed_forms.hpp"

#include <gtest/gtest.h>

namespace unisono::cost {
namespace {

constexpr MessageCost kMessage{1.0, 0.01, 0.001};

TEST(ClosedForms, AreThoseOfTheTextbookAtEightRanks) {
  const auto expect = [](const char* name, double latency, double per_byte) {
    const ClosedForm form = closed_form(name, 8, kMessage);
    EXPECT_DOUBLE_EQ(form.latency_s, latency) << name;
    EXPECT_DOUBLE_EQ(form.per_byte_s, per_byte) << name;
  };
  expect("binary-tree", 6, 3 * 0.021);
  expect("recursive-doubling", 3, 3 * 0.011);
  expect("halving-doubling", 6, 0.02 - 0.021 / 8 + 0.001);
  expect("ring", 14, 2 * 7.0 / 8 * 0.01 + 7.0 / 8 * 0.001);
}

TEST(ClosedForms, RingLatencyIsWhatWasMeasuredOver10GbE) {
  const MessageCost ethernet{45.26e-6, 0, 0};
  EXPECT_NEAR(closed_form("ring", 2, ethernet).latency_s, 90.52e-6, 1e-12);
  EXPECT_NEAR(closed_form("ring", 4, ethernet).latency_s, 271.56e-6, 1e-12);
  EXPECT_NEAR(closed_form("ring", 8, ethernet).latency_s, 633.64e-6, 1e-12);
}

TEST(ClosedForms, OneRankCostsNothingAndMoreRanksNeverLess) {
  for (const ClosedFormRow& row : closed_form_table()) {
    EXPECT_FALSE(row.about.empty());
    EXPECT_EQ(closed_form(row.name, 1, kMessage).seconds(1000), 0) << row.name;
    for (int ranks = 1; ranks < 200; ++ranks) {
      const ClosedForm fewer = closed_form(row.name, ranks, kMessage);
      const ClosedForm more = closed_form(row.name, ranks + 1, kMessage);
      EXPECT_LE(fewer.latency_s, more.latency_s) << row.name << " " << ranks;
      EXPECT_LE(fewer.per_byte_s, more.per_byte_s) << row.name << " " << ranks;
    }
  }
}

TEST(ClosedForms, RanksBetweenPowersOfTwoTakeTheRoundsOfTheNextOne) {
  EXPECT_EQ(closed_form("recursive-doubling", 5, kMessage).latency_s, 3);
  EXPECT_EQ(closed_form("recursive-doubling", 8, kMessage).latency_s, 3);
  EXPECT_EQ(closed_form("recursive-doubling", 9, kMessage).latency_s, 4);
}

TEST(ClosedForms, RingAndHalvingSendTheSameAndHalvingIsNeverSlower) {
  for (const int ranks : {2, 4, 8, 64, 1024}) {
    const ClosedForm ring = closed_form("ring", ranks, kMessage);
    const ClosedForm halving = closed_form("halving-doubling", ranks, kMessage);
    EXPECT_NEAR(ring.per_byte_s, halving.per_byte_s, 1e-15);
    EXPECT_LE(halving.latency_s, ring.latency_s);
  }
}

}  // namespace
}  // namespace unisono::cost
