// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// For tests: what the files of the contract that every ordering strategy runs have in common.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <ostream>
#include <string>
#include <string_view>

#include "order/testing/seeds.hpp"
#include "order/testing/virtual_net.hpp"

namespace unisono::order {

// Deep and shallow trees; strategies without one do not care.
inline constexpr std::array kRadices = {2, 3, 16};

struct OrderCase {
  const char* strategy;
  const char* pacing;
};
inline void PrintTo(const OrderCase& c, std::ostream* out) {
  *out << cat(c.strategy, " ", c.pacing);
}
// Every strategy runs the whole contract: one line adds one.
inline constexpr std::array kOrderCases = std::to_array<OrderCase>({
    {"coordinator", "event"}, {"tree", "event"}, {"cache", "event"},
    {"topo", "event"}, {"auto", "event"},
    {"coordinator", "cycle"}, {"tree", "cycle"}, {"cache", "cycle"},
    {"coordinator", "gs"}, {"tree", "gs"}, {"cache", "gs"},
    {"coordinator", "nbcs"}, {"tree", "nbcs"}, {"cache", "nbcs"},
});

class OrderContract : public testing::TestWithParam<OrderCase> {
 protected:
  static bool paced() { return std::string_view(GetParam().pacing) != "event"; }
  // Follows a plan once it has seen the same iteration often enough.
  static bool plans() {
    return std::string_view(GetParam().strategy) == "topo" ||
           std::string_view(GetParam().strategy) == "auto";
  }
  // How many of `all` random runs there is time for.
  static std::uint64_t seeds(std::uint64_t all) {
    return affordable_seeds(std::max<std::uint64_t>(paced() ? all / 10 : all, 3));
  }

  static VirtualNet net(int members, std::uint64_t seed = 0, OrderSettings settings = {}) {
    using namespace std::chrono_literals;
    settings.pacing = GetParam().pacing;
    settings.cycle = 1ms;
    settings.learn_steps = 1;
    settings.topo_patience = 5ms;
    VirtualNet n(GetParam().strategy, members, seed, settings);
    if (paced()) n.cycle = settings.cycle;
    // Plans are given up after milliseconds; stalls are reported after whole seconds.
    if (plans()) n.horizon = 900ms;
    return n;
  }
  static void expect_same_logs(VirtualNet& n) {
    EXPECT_TRUE(n.faults.empty()) << n.faults.front().to_string();
    for (int i = 1; i < n.size(); ++i) EXPECT_EQ(n.log(i), n.log(0)) << "member " << i;
    std::uint64_t sequence = 0;
    for (const Response& r : n.flat(0)) EXPECT_EQ(r.sequence, sequence++);
  }
  // Planned tensors travel several in a response, so tensors are counted; a group counts once.
  static std::size_t parcel_count(const std::vector<Response>& responses) {
    std::size_t count = 0;
    for (const Response& r : responses) count += parcel_count(r);
    return count;
  }
  static std::size_t parcel_count(const Response& response) {
    std::size_t count = 0;
    std::map<std::string, std::size_t> groups;
    for (const Request& tensor : response.tensors) {
      if (tensor.group.empty()) {
        ++count;
      } else if (++groups[tensor.group] == tensor.group_size) {
        groups.erase(tensor.group);
        ++count;
      }
    }
    EXPECT_TRUE(groups.empty()) << "group " << groups.begin()->first << " came in pieces";
    return count;
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
// Names a test by its strategy and pacing.
inline std::string case_name(const testing::TestParamInfo<OrderCase>& param) {
  return cat(param.param.strategy, "_", param.param.pacing);
}

}  // namespace unisono::order
