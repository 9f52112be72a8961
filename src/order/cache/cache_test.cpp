// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The cache strategy: what a step costs once everything is known. And for it and the tree: messages
// damaged in the middle of a step lead to a Status, never a crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "order/cache/store.hpp"
#include "order/testing/contract.hpp"

namespace unisono::order {
namespace {

using namespace std::chrono_literals;

std::vector<Request> resnet_like() {
  std::vector<Request> requests;
  for (int i = 0; i < 161; ++i) {
    requests.push_back(tensor_request(
        cat("gradients/resnet50/stage", i / 40, "/block", i / 8, "/conv", i, "/kernel"),
        {64, 64, 3, 1 + i % 3}));
  }
  return requests;
}

struct Cost {
  std::size_t messages, bytes;
};

// The cost of one step, after two others; each member submits in an order of its own.
Cost steady_step(const char* strategy, int members, int radix) {
  OrderSettings settings;
  settings.tree_radix = radix;
  VirtualNet n(strategy, members, 5, settings);
  Rng rng(9);
  Cost before{0, 0};
  for (int step = 0; step < 3; ++step) {
    before = {n.messages_sent, n.bytes_sent};
    for (int i = 0; i < members; ++i) {
      auto requests = resnet_like();
      rng.shuffle(requests);
      n.submit(i, requests);
    }
    n.settle();
  }
  EXPECT_EQ(n.flat(members - 1).size(), 3u * 161u);
  return {n.messages_sent - before.messages, n.bytes_sent - before.bytes};
}

TEST(CacheOrder, SteadyStateIsOneMessageUpAndOneDownForEachMember) {
#ifdef UNISONO_SANITIZED
  const std::vector<int> sizes = {2, 4, 13};
#else
  const std::vector<int> sizes = {2, 4, 13, 40};
#endif
  for (const int members : sizes) {
    for (const int radix : {2, 3, 16}) {
      const std::size_t links = static_cast<std::size_t>(members) - 1;
      EXPECT_EQ(steady_step("cache", members, radix).messages, 2 * links)
          << members << " members, radix " << radix;
    }
  }
}

TEST(CacheOrder, BytesAreATwentiethOfTheCoordinators) {
  const Cost cache = steady_step("cache", 4, 16), coordinator = steady_step("coordinator", 4, 16);
  EXPECT_LE(cache.bytes * 20, coordinator.bytes);
  EXPECT_LE(cache.bytes, 6u * 40u);
  RecordProperty("cache_bytes", static_cast<int>(cache.bytes));
  RecordProperty("coordinator_bytes", static_cast<int>(coordinator.bytes));
}

TEST(CacheOrder, WhatDiffersBetweenMembersIsCachedToo) {
  VirtualNet n("cache", 4);
  std::size_t before = 0;
  for (int step = 0; step < 3; ++step) {
    before = n.bytes_sent;
    for (int i = 0; i < 4; ++i) {
      Request gather = tensor_request("gather", {i, 2});
      gather.kind = Collective::allgather;
      gather.priority = i;
      n.submit(i, gather);
    }
    n.settle();
  }
  EXPECT_LE(n.bytes_sent - before, 6u * 16u);
  EXPECT_EQ(n.log(3), n.log(0));
  EXPECT_EQ(n.flat(2).back().extents, (std::vector<std::vector<std::int64_t>>{{0, 1, 2, 3}}));
}

TEST(CacheOrder, AChangeOnAllMembersCostsOneExchange) {
  VirtualNet n("cache", 4);
  for (int step = 0; step < 2; ++step) {
    n.submit_all(tensor_request("x"));
    n.settle();
  }
  const std::size_t before = n.messages_sent;
  n.submit_all(tensor_request("x", {7}));
  n.settle();
  // The erasure can go down ahead of the answer when not all members have been heard.
  EXPECT_LE(n.messages_sent - before, 9u);
  EXPECT_TRUE(n.flat(3).back().error.ok());
  EXPECT_EQ(n.flat(3).back().tensors[0].shape, (Shape{7}));
}

TEST(CachePool, MembersOfOneProcessShareWhatTheyCache) {
  CachePool pool;
  OrderSettings settings;
  settings.cache_pool = &pool;
  VirtualNet n("cache", 5, 0, settings);
  for (int step = 0; step < 3; ++step) {
    for (const Request& request : resnet_like()) n.submit_all(request);
    n.settle();
  }
  EXPECT_EQ(pool.size(), 161u);
  EXPECT_EQ(n.log(4), n.log(0));
}

// A deep tree in the middle of a step with hits, a change, a stall under inquiry and a join.
class MidStep {
 public:
  explicit MidStep(const char* strategy) : net_(strategy, 7, 1, settings()) {
    for (int step = 0; step < 2; ++step) {
      for (int t = 0; t < 12; ++t) net_.submit_all(tensor_request(cat("t", t)));
      for (int i = 0; i < 7; ++i) net_.submit(i, group_request("g", {"a", "b"}));
      net_.settle();
    }
    net_.keep_messages = true;
    for (int t = 0; t < 12; ++t) net_.submit_all(tensor_request(cat("t", t), {t == 3 ? 9 : 4}));
    net_.submit(2, group_request("g", {"a", "b"}));
    net_.submit(5, tensor_request("new"));
  }
  VirtualNet& net() { return net_; }
  void finish() {
    net_.settle();
    net_.advance(6s);
    net_.settle();
    net_.submit(4, kind_request("join", Collective::join));
    net_.settle();
    net_.advance(300s);
    net_.settle();
  }

 private:
  static OrderSettings settings() {
    OrderSettings settings;
    settings.tree_radix = 2;
    settings.stall_warning = 10s;
    settings.stall_limit = 100s;
    return settings;
  }
  VirtualNet net_;
};

class TreeMessages : public testing::TestWithParam<const char*> {};

TEST_P(TreeMessages, EveryTruncationIsRefused) {
  MidStep sample(GetParam());
  sample.finish();
  ASSERT_FALSE(sample.net().kept.empty());
  MidStep fresh(GetParam());
  for (const auto& message : sample.net().kept) {
    for (std::size_t size = 0; size < message.bytes.size(); ++size) {
      const std::vector<std::byte> cut(message.bytes.begin(),
                                       message.bytes.begin() + static_cast<std::ptrdiff_t>(size));
      const Status status =
          fresh.net().at((message.to - 10) / 2).receive(message.from, cut, fresh.net().now());
      ASSERT_EQ(status.code(), Code::corrupted) << "cut to " << size;
      ASSERT_EQ(status.culprit().rank, message.from);
    }
  }
}

TEST_P(TreeMessages, DamageInTheMiddleOfAStepNeverCrashes) {
  MidStep sample(GetParam());
  sample.finish();
  const auto messages = sample.net().kept;
  for (std::uint64_t seed = 0; seed < affordable_seeds(1500); ++seed) {
    Rng rng(seed);
    MidStep step(GetParam());
    step.net().shake(static_cast<int>(rng.below(30)));
    auto message = messages[rng.below(messages.size())];
    for (auto flips = rng.below(3); flips > 0; --flips) {
      auto& byte = message.bytes[rng.below(message.bytes.size())];
      byte ^= static_cast<std::byte>(1u << rng.below(8));
    }
    const Status status = step.net().at((message.to - 10) / 2).receive(message.from, message.bytes,
                                                                       step.net().now());
    EXPECT_TRUE(status.ok() || status.code() == Code::corrupted);
    step.finish();
  }
}

INSTANTIATE_TEST_SUITE_P(All, TreeMessages, testing::Values("tree", "cache"), strategy_name);

}  // namespace
}  // namespace unisono::order
