// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/topo/learn/iteration_balance.hpp"

#include <gtest/gtest.h>

#include "base/data/rng.hpp"
#include "order/testing/virtual_net.hpp"
#include "order/topo/learn/iteration_units.hpp"
#include "order/topo/learn/submitted_moments.hpp"

namespace unisono::order {
namespace {

Response answer_to(const Request& request) {
  Response response;
  response.tensors = {request};
  return response;
}

std::shared_ptr<const TopoPlan> plan_of_three() {
  return std::make_shared<const TopoPlan>(std::vector<std::vector<Request>>{
      {tensor_request("a"), tensor_request("b")}, {tensor_request("c")}});
}

TEST(IterationBalance, SaysTheSameWheneverAMemberGotThePlan) {
  const std::vector<std::string> answered = {"a", "x", "c", "b", "a", "c", "y", "b", "a", "a", "b"};
  const std::vector<bool> level = {false, false, false, true,  false, false,
                                   false, true,  false, false, false};
  const std::vector<bool> fits = {true, true, true, true, true, true,
                                  true, true, true, false, false};
  for (std::size_t got_at = 0; got_at <= answered.size(); ++got_at) {
    IterationBalance balance;
    for (std::size_t i = 0; i < answered.size(); ++i) {
      if (i == got_at) balance.watch(plan_of_three());
      balance.answered(answer_to(tensor_request(answered[i])));
      if (i < got_at) continue;
      EXPECT_EQ(balance.level(), level[i]) << i << ", plan at " << got_at;
      EXPECT_EQ(balance.fits(), fits[i]) << i << ", plan at " << got_at;
    }
  }
}

TEST(IterationBalance, AChangedTensorFitsNoMoreBeforeOrAfterThePlanCame) {
  Request changed = tensor_request("b");
  changed.shape.push_back(3);
  for (const bool early : {true, false}) {
    IterationBalance balance;
    if (early) balance.watch(plan_of_three());
    balance.answered(answer_to(changed));
    if (!early) balance.watch(plan_of_three());
    EXPECT_FALSE(balance.fits());
    balance.restart();
    balance.watch(plan_of_three());
    EXPECT_TRUE(balance.fits());
  }
}

TEST(IterationUnits, AreFoundByNameAndSharedWhenEqual) {
  IterationUnits units;
  for (std::uint64_t i = 0; i < 300; ++i) units.add(i * 0x9E3779B97F4A7C15u, i);
  for (std::uint32_t i = 0; i < 300; ++i) EXPECT_EQ(units.find(i * 0x9E3779B97F4A7C15u), i);
  EXPECT_EQ(units.find(12345), IterationUnits::kNone);
  IterationUnitsPool pool;
  const auto first = pool.share(units);
  EXPECT_EQ(pool.share(units), first);
  units.add(1, 1);
  EXPECT_NE(pool.share(units), first);
}

TEST(SubmittedMoments, AreWhatAMapWouldHold) {
  SubmittedMoments moments;
  std::unordered_map<std::uint64_t, std::uint64_t> expected;
  Rng rng(7);
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    // Few homes, so that runs of neighbours are long.
    const std::uint64_t name = 2 + rng() % 8 + (rng() % 40 << 20);
    if (rng() % 2 == 0) {
      moments.put(name, {i, Time{5}});
      expected[name] = i;
      continue;
    }
    const auto found = moments.take(name);
    const auto it = expected.find(name);
    ASSERT_EQ(found.has_value(), it != expected.end()) << i;
    if (!found) continue;
    EXPECT_EQ(found->number, it->second);
    expected.erase(it);
    EXPECT_EQ(moments.size(), expected.size());
  }
}

}  // namespace
}  // namespace unisono::order
