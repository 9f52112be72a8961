// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How an emulated network holds buckets back, under a clock that only the test moves, and what a
// channel lends to its mover.
#include "run/channel.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "base/os/doorbell.hpp"

namespace unisono::run {
namespace {

using namespace std::chrono_literals;
using move::Step;

class AskedClock final : public Clock {
 public:
  Time now() const override { return now_; }
  void wake_at(Time at) const override { asked = at; }
  void advance(Nanos d) { now_ = now_ + d; }
  mutable Time asked = kNever;

 private:
  Time now_{1'000'000};
};

// Finishes at the given step.
class CountedRun final : public BucketRun {
 public:
  CountedRun(Bucket bucket, RunContext context, int steps)
      : BucketRun(std::move(bucket), std::vector<Pending>(1), context), left_(steps) {}
  Status start() override { return {}; }
  Step step() override {
    EXPECT_GT(left_, 0) << "a finished run must not be stepped again";
    return --left_ == 0 ? Step::finished : Step::waiting;
  }

 private:
  int left_;
};

class EmulatedChannel : public testing::Test {
 protected:
  void emulate(const char* wire) { ASSERT_TRUE(options_.set("emulate", wire).ok()); }
  void begin(std::int64_t elements, int steps = 1, const char* codec = "none") {
    Request request;
    request.name = "t";
    request.shape = {elements};
    request.codec = codec;
    Response response;
    response.tensors = {request};
    Bucket bucket;
    bucket.responses = {response};
    bucket.bytes = request.bytes();
    RunContext context;
    context.members = &members_;
    context.options = &options_;
    context.clock = &clock_;
    channel_.run = std::make_unique<CountedRun>(std::move(bucket), context, steps);
  }

  Options options_;
  AskedClock clock_;
  Members members_ = Members::of({0, 1}, 0);
  Channel channel_;
};

TEST_F(EmulatedChannel, WithoutOneABucketEndsWhenItHasBeenMoved) {
  begin(1000);
  EXPECT_EQ(channel_.step(), Step::finished);
  EXPECT_EQ(clock_.asked, kNever);
}

TEST_F(EmulatedChannel, ABucketEndsAlphaAndItsBytesTimesBetaAfterItHasBeenMoved) {
  emulate("alpha=1ms,beta=1us");
  begin(1000, 2);
  EXPECT_EQ(channel_.step(), Step::waiting);     // not moved yet: nothing is held back
  EXPECT_EQ(clock_.asked, kNever);
  clock_.advance(7ms);
  EXPECT_EQ(channel_.step(), Step::waiting);
  const Time end = clock_.now() + 5ms;           // 1 ms and 4,000 bytes
  EXPECT_EQ(clock_.asked, end);
  EXPECT_FALSE(channel_.ready());
  clock_.advance(5ms - 1ns);
  EXPECT_EQ(channel_.step(), Step::waiting);
  clock_.advance(1ns);
  EXPECT_TRUE(channel_.ready());
  EXPECT_EQ(channel_.step(), Step::finished);
}

TEST_F(EmulatedChannel, WhatComesNextIsHeldAnew) {
  emulate("alpha=1ms");
  const Time begun = clock_.now();
  for (int i = 0; i < 3; ++i) {
    begin(10);
    EXPECT_EQ(channel_.step(), Step::waiting);
    clock_.advance(1ms);
    EXPECT_EQ(channel_.step(), Step::finished);
    channel_.run.reset();
  }
  EXPECT_EQ(clock_.now() - begun, 3ms);
}

TEST_F(EmulatedChannel, BytesAreThoseOnTheWire) {
  emulate("beta=1us");
  begin(1000, 1, "fp16");
  EXPECT_EQ(channel_.step(), Step::waiting);
  EXPECT_EQ(clock_.asked - clock_.now(), 2ms);
}

TEST_F(EmulatedChannel, ARankAloneHasNoNetwork) {
  emulate("alpha=1ms");
  members_ = Members::of({0}, 0);
  begin(1000);
  EXPECT_EQ(channel_.step(), Step::finished);
}

// Computes once, and does not end that step before the other run has begun its own.
class ComputingRun final : public BucketRun {
 public:
  ComputingRun(Bucket bucket, RunContext context, std::atomic<int>& begun)
      : BucketRun(std::move(bucket), std::vector<Pending>(1), context), begun_(begun) {}
  Status start() override { return {}; }
  bool computes() const override { return steps_ == 1; }
  bool ready() const override { return true; }
  Step step() override {
    threads_.push_back(std::this_thread::get_id());
    if (++steps_ != 2) return steps_ < 3 ? Step::advanced : Step::finished;
    ++begun_;
    while (begun_ < 2) std::this_thread::yield();
    return Step::advanced;
  }
  const std::vector<std::thread::id>& threads() const { return threads_; }

 private:
  std::atomic<int>& begun_;
  int steps_ = 0;
  std::vector<std::thread::id> threads_;
};

// One that encodes must not keep the other from it, nor the loop from anything.
TEST(Channel, TwoOfThemComputeSideBySide) {
  Doorbell bell;
  Options options;
  Members members = Members::of({0, 1}, 0);
  RunContext context;
  context.members = &members;
  context.options = &options;
  std::atomic<int> begun = 0;
  std::array<Channel, 2> channels;
  for (Channel& channel : channels) {
    Request request;
    request.name = "t";
    request.shape = {1};
    Response response;
    response.tensors = {request};
    Bucket bucket;
    bucket.responses = {response};
    channel.mover = std::make_unique<Mover>(bell.ringer());
    channel.run = std::make_unique<ComputingRun>(std::move(bucket), context, begun);
  }
  for (int ended = 0; ended < 2;) {
    for (Channel& channel : channels) {
      if (channel.run == nullptr || channel.step() != Step::finished) continue;
      const auto& threads = static_cast<ComputingRun&>(*channel.run).threads();
      const auto driver = std::this_thread::get_id();
      ASSERT_EQ(threads.size(), 3U);
      EXPECT_EQ(threads[0], driver);
      EXPECT_NE(threads[1], driver);
      EXPECT_EQ(threads[2], driver) << "only the step that computes is lent";
      channel.run.reset();
      ++ended;
    }
  }
}

}  // namespace
}  // namespace unisono::run
