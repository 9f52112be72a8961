// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/switch/switchable.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "order/testing/seeds.hpp"
#include "order/switch/switchable_mail.hpp"
#include "order/topo/topo.hpp"
#include "order/topo/testing/steps.hpp"
#include "order/testing/virtual_net.hpp"

namespace unisono::order {
namespace {

using testing::HasSubstr;

std::unique_ptr<Order> strategy_of(std::string_view name, Members members, OrderSettings settings) {
  if (name == "coordinator") return make_coordinator(std::move(members), settings);
  if (name == "tree") return make_tree(std::move(members), settings);
  if (name == "cache") return make_cache(std::move(members), settings);
  if (name == "topo") return make_topo(std::move(members), settings);
  return nullptr;
}

TopoNet::Make starting_with(const char* name) {
  OrderSettings settings;
  settings.learn_steps = 2;
  settings.tree_radix = 2;
  return [=](Members members) {
    return make_switchable(name, std::move(members), settings, strategy_of);
  };
}

Request switch_to(std::string_view strategy) {
  return kind_request(cat(kSwitchPrefix, strategy), Collective::switch_order);
}

TEST(Switchable, LosesNothingWhileStrategiesTakeTurns) {
  for (std::uint64_t seed = 0; seed < affordable_seeds(300); ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    TopoNet net(4, seed, starting_with("coordinator"));
    net.pipeline();                     // so that every switch finds requests in flight
    const TopoStep step = step_of({"a", "b", "c", "d"});
    for (const char* next : {"tree", "cache", "topo", "coordinator"}) {
      for (int i = 0; i < 8; ++i) net.add_step_all(step);
      TopoStep last = step;
      last.push_back({switch_to(next), {}});
      net.add_step_all(last);
    }
    net.add_step_all(step);
    ASSERT_TRUE(net.run()) << net.trouble();
    for (int i = 0; i < net.size(); ++i) {
      EXPECT_EQ(net.order(i).name(), "coordinator");
      EXPECT_EQ(net.log(i), net.log(0));
      for (const char* name : {"a", "b", "c", "d"}) {
        EXPECT_EQ(net.results(i).at(name).size(), 37u);
        for (const Status& status : net.results(i).at(name)) EXPECT_TRUE(status.ok());
      }
    }
    std::uint64_t sequence = 0;
    for (const std::string& line : net.log(0)) {
      EXPECT_EQ(std::stoull(line), sequence++) << line;
    }
  }
}

TEST(Switchable, ReplacesAPlanThatRuns) {
  for (std::uint64_t seed = 0; seed < affordable_seeds(100); ++seed) {
    TopoNet net(3, seed, starting_with("topo"));
    const TopoStep step = step_of({"a", "b", "c"});
    for (int i = 0; i < 8; ++i) net.add_step_all(step);
    ASSERT_TRUE(net.run()) << net.trouble();
    ASSERT_GT(net.planned(0), 0u);
    TopoStep last = step;
    last.push_back({switch_to("cache"), {}});
    net.add_step_all(last);
    net.add_step_all(step);
    ASSERT_TRUE(net.run()) << "seed " << seed << ": " << net.trouble();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(net.order(i).name(), "cache");
  }
}

TEST(Switchable, FailsAnUnknownStrategyOnEveryMemberAndGoesOn) {
  TopoNet net(3, 1, starting_with("tree"));
  TopoStep step = step_of({"a"});
  step.push_back({switch_to("magic"), {}});
  net.add_step_all(step);
  net.add_step_all(step_of({"a"}));
  ASSERT_TRUE(net.run()) << net.trouble();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(net.order(i).name(), "tree");
    const Status& status = net.results(i).at("unisono.order/magic").front();
    EXPECT_EQ(status.code(), Code::invalid_argument);
    EXPECT_THAT(status.message(), HasSubstr("\"magic\""));
  }
}

TEST(Switchable, IsNullForAnUnknownFirstStrategy) {
  EXPECT_EQ(make_switchable("magic", Members::of({10}, 10), {}, strategy_of), nullptr);
}

TEST(EpochMail, DropsOldKeepsNextAndRefusesBeyond) {
  EpochMail sender, receiver;
  const std::vector<std::byte> text(3, std::byte{7});
  const auto sealed_0 = sender.seal(text);
  for (int i = 0; i < 300; ++i) {
    const auto sealed = sender.seal(text);
    auto now = receiver.open(3, sealed, false);
    ASSERT_TRUE(now.ok() && now.value());
    EXPECT_TRUE(std::ranges::equal(*now.value(), text));
    sender.advance();
    EXPECT_FALSE(receiver.open(3, sender.seal(text), false).ok());
    auto early = receiver.open(3, sender.seal(text), true);
    ASSERT_TRUE(early.ok());
    EXPECT_FALSE(early.value());
    const auto kept = receiver.advance();
    ASSERT_EQ(kept.size(), 1u);
    EXPECT_EQ(kept[0].second, text);
  }
  auto old = receiver.open(3, sealed_0, true);
  ASSERT_TRUE(old.ok());
  EXPECT_FALSE(old.value());
  sender.advance();
  sender.advance();
  EXPECT_EQ(receiver.open(3, sender.seal(text), true).status().code(), Code::corrupted);
  EXPECT_EQ(receiver.open(3, {}, true).status().code(), Code::corrupted);
  const std::vector<std::byte> endless(12, std::byte{0xFF});
  EXPECT_EQ(receiver.open(3, endless, true).status().code(), Code::corrupted);
}

TEST(Switchable, SaysThatItsPacingBlocks) {
  const RankList ranks{0, 1};
  for (const auto& [pacing, blocks] : {std::pair{"cycle", true}, {"nbcs", false}}) {
    OrderSettings settings;
    settings.pacing = pacing;
    const auto order = make_order("cache", Members::of(ranks, 0), settings);
    EXPECT_FALSE(order->blocking());
    OrderOutput out;
    order->negotiate(Time{1}, out);     // the other member has not entered the round
    EXPECT_EQ(order->blocking(), blocks) << pacing;
  }
}

}  // namespace
}  // namespace unisono::order
