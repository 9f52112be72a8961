// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/gate/plan_gate.hpp"

#include <gtest/gtest.h>

namespace unisono::run {
namespace {

class PlanGateTest : public testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 3; ++i) channels_.push_back(std::make_unique<Channel>());
  }

  Bucket planned(std::uint32_t channel, std::uint64_t choice = 0) {
    Bucket bucket;
    bucket.id = next_++;
    bucket.responses.resize(1);
    bucket.responses[0].tensors.resize(1);
    bucket.responses[0].planned = true;
    bucket.responses[0].method.channel = channel;
    bucket.responses[0].choice = choice;
    return bucket;
  }
  Bucket negotiated(std::uint32_t team) {
    Bucket bucket = planned(0);
    bucket.responses[0].planned = false;
    bucket.responses[0].tensors[0].team = team;
    return bucket;
  }
  void enqueue(Bucket bucket) { gate_.enqueue(std::move(bucket), channels_); }
  Bucket end(std::size_t channel) {
    Bucket bucket = std::move(channels_[channel]->queue.front());
    channels_[channel]->queue.pop_front();
    return bucket;
  }
  bool may_begin(std::size_t channel) const {
    return PlanGate::may_begin(*channels_[channel], channels_);
  }
  std::size_t queued(std::size_t channel) const { return channels_[channel]->queue.size(); }

  Channels channels_;
  PlanGate gate_;
  std::uint64_t next_ = 0;
};

TEST_F(PlanGateTest, BucketsOfOnePlanBeginInAllChannels) {
  for (std::uint32_t c = 0; c < 3; ++c) enqueue(planned(c));
  EXPECT_TRUE(may_begin(0) && may_begin(1) && may_begin(2));
}

TEST_F(PlanGateTest, WhatIsNegotiatedAfterAPlanWaitsForAllItsChannels) {
  enqueue(planned(0));
  enqueue(planned(1));
  const Bucket last = end(0);
  gate_.close(*channels_[0], last, channels_);
  gate_.next_epoch();
  enqueue(negotiated(3));
  EXPECT_TRUE(gate_.behind(channels_));
  EXPECT_FALSE(may_begin(2));
  end(1);
  EXPECT_FALSE(gate_.behind(channels_));
  EXPECT_TRUE(may_begin(2));
}

TEST_F(PlanGateTest, AChoiceIsMadeInTheFirstChannelAfterAllBeforeAndBeforeAllThatFollows) {
  enqueue(planned(1));
  enqueue(planned(2, 77));
  enqueue(planned(1));
  EXPECT_EQ(queued(0), 1u);
  EXPECT_FALSE(may_begin(0));
  EXPECT_TRUE(may_begin(1));
  end(1);
  EXPECT_TRUE(may_begin(0));
  EXPECT_FALSE(may_begin(1)) << "it may be of another plan than the others have chosen";
  const Bucket ballot = end(0);
  EXPECT_EQ(gate_.chosen(ballot, PlanVote::run, channels_), channels_[2].get());
  EXPECT_TRUE(may_begin(1));
}

TEST_F(PlanGateTest, NothingFollowsAChoiceThatWasNotTheSame) {
  enqueue(planned(2, 77));
  enqueue(planned(1));
  EXPECT_EQ(gate_.chosen(end(0), PlanVote::abort, channels_), nullptr);
  EXPECT_EQ(queued(1), 0u);
  for (std::uint32_t c = 0; c < 3; ++c) {
    enqueue(planned(c));
    EXPECT_EQ(queued(c), 0u);
  }
}

TEST_F(PlanGateTest, AnIterationThatEndsItsPlanClosesTheChannelsItIsInAndNobodyBeginsTheNext) {
  enqueue(planned(0, 77));
  EXPECT_EQ(gate_.chosen(end(0), PlanVote::run, channels_), channels_[0].get());
  enqueue(planned(1));
  enqueue(planned(2));
  enqueue(planned(0, 78));
  enqueue(planned(2));
  gate_.close(*channels_[1], end(1), channels_);
  EXPECT_EQ(queued(0), 0u) << "a choice that nobody comes to";
  EXPECT_EQ(queued(2), 1u) << "others may be in it";
  EXPECT_TRUE(may_begin(2));
  enqueue(planned(0, 79));
  EXPECT_EQ(queued(0), 0u);
  gate_.next_epoch();
  enqueue(planned(0, 80));
  EXPECT_EQ(queued(0), 1u);
}

}  // namespace
}  // namespace unisono::run
