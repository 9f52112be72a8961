// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// For tests: what the files of the contract that every ordering strategy runs have in common.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "order/virtual_net.hpp"

namespace unisono {

// Deep and shallow trees; strategies without one do not care.
inline constexpr std::array kRadices = {2, 3, 16};

class OrderContract : public testing::TestWithParam<const char*> {
 protected:
  VirtualNet net(int members, std::uint64_t seed = 0, OrderSettings settings = {}) const {
    return VirtualNet(GetParam(), members, seed, settings);
  }
  static void expect_same_logs(VirtualNet& n) {
    EXPECT_TRUE(n.faults.empty()) << n.faults.front().to_string();
    for (int i = 1; i < n.size(); ++i) EXPECT_EQ(n.log(i), n.log(0)) << "member " << i;
    std::uint64_t sequence = 0;
    for (const Response& r : n.flat(0)) EXPECT_EQ(r.sequence, sequence++);
  }
  // One response on all members, failed with a mismatch; its text.
  static std::string sole_mismatch(VirtualNet& n) {
    n.settle();
    expect_same_logs(n);
    const auto all = n.flat(0);
    if (all.size() != 1) return cat("expected one response, got ", all.size());
    EXPECT_EQ(all[0].error.code(), Code::mismatch);
    for (int i = 0; i < n.size(); ++i) EXPECT_EQ(n.at(i).waiting(), 0u);
    return all[0].error.message();
  }
};

// Names a test by its strategy.
inline std::string strategy_name(const testing::TestParamInfo<const char*>& param) {
  return param.param;
}

}  // namespace unisono
