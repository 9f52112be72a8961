// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Ranks that leave in good order: what needs them fails, names them, and nothing else does.
#include <chrono>
#include <functional>
#include <latch>
#include <semaphore>

#include "base/data/text.hpp"
#include "engine/testing/thread_ranks.hpp"

namespace unisono::engine {
namespace {
using namespace std::chrono_literals;
using Floats = std::vector<float>;

// So long that a test which had to wait for it would not end; nothing here may wait for it.
Options patient() {
  Options options;
  options.heartbeat_s = 1000;
  options.suspect_s = 2000;
  options.dead_s = 3600;
  return options;
}

Status reduce(Engine& engine, const std::string& name, ProcessSetId set = 0) {
  Floats data(64, 1.0f);
  return engine.allreduce<float>(name, data, {.op = ReduceOp::sum, .process_set = set}).wait();
}

void expect_blame(const Status& status, Rank culprit) {
  EXPECT_EQ(status.code(), Code::peer_left) << status.to_string();
  EXPECT_EQ(status.culprit().rank, culprit) << status.to_string();
  EXPECT_GT(status.culprit().pid, 0);
  EXPECT_NE(status.message().find(cat("rank ", culprit)), std::string::npos) << status.to_string();
}

// Two members of a set and a bucket that stays in flight between them. The second one's loop is
// held in a callback; by then it has asked for "stuck", so the first one, which decides for the
// set, agrees to it, begins it, and cannot end it before go.
struct Stuck {
  std::binary_semaphore go{0};
  std::latch held{1};
  Floats first_data = Floats(8, 1.0f), second_data = Floats(8, 1.0f);
  Floats first_stuck = Floats(8, 1.0f), second_stuck = Floats(8, 1.0f);
  Ticket first, second;                     // of "stuck"

  void begin_first(Engine& engine, ProcessSetId set) {
    const Settings settings{.op = ReduceOp::sum, .process_set = set};
    const Ticket holds = engine.allreduce<float>("holds", first_data, settings);
    held.wait();
    EXPECT_TRUE(holds.wait().ok());
    first = engine.allreduce<float>("stuck", first_stuck, settings);
  }
  void begin_second(Engine& engine, ProcessSetId set) {
    Settings settings{.op = ReduceOp::sum, .process_set = set};
    second = engine.allreduce<float>("stuck", second_stuck, settings);
    settings.on_done = [this](const Status&) {
      held.count_down();
      go.acquire();
    };
    const Ticket holds = engine.allreduce<float>("holds", second_data, settings);
    EXPECT_TRUE(holds.wait().ok());
  }
};

class EveryPath : public testing::TestWithParam<const char*> {
 protected:
  Options options() const {
    Options options = patient();
    options.transport = GetParam();         // tcp: ranks that are threads use messages
    return options;
  }
};
INSTANTIATE_TEST_SUITE_P(Leaving, EveryPath, testing::Values("auto", "tcp"),
                         [](const auto& which) { return std::string(which.param); });

TEST_P(EveryPath, ASetThatTheLeaverWasNeverInGoesOn) {
  Options options = this->options();
  // Whatever is judged so soon after a leave is judged while the bucket is stuck.
  options.heartbeat_s = 0.002;
  options.suspect_s = 0.005;
  options.dead_s = 0.01;
  Stuck stuck;
  std::latch left(1);
  run_ranks(3, [&](Engine& engine) {
    const auto pair = engine.add_process_set({0, 1});
    ASSERT_TRUE(pair.ok());
    ASSERT_TRUE(engine.barrier().wait().ok());
    if (engine.rank() == 2) {
      stuck.held.wait();
      engine.shutdown();
      return left.count_down();
    }
    if (engine.rank() == 0) {
      stuck.begin_first(engine, pair.value());
      left.wait();
      // Long enough for a wrong judgement to come; it is never waited for.
      EXPECT_EQ(stuck.first.wait_for(100ms).code(), Code::timed_out);
      stuck.go.release();
      EXPECT_TRUE(stuck.first.wait().ok()) << stuck.first.wait().to_string();
      EXPECT_EQ(stuck.first_stuck, Floats(8, 2.0f));
    } else {
      stuck.begin_second(engine, pair.value());
      EXPECT_TRUE(stuck.second.wait().ok()) << stuck.second.wait().to_string();
    }
    EXPECT_TRUE(reduce(engine, "after", pair.value()).ok());
    expect_blame(reduce(engine, "everyone"), 2);
    EXPECT_TRUE(reduce(engine, "after that", pair.value()).ok());
  }, options);
}

// A rank that may not wait any longer leaves a bucket behind: its set ends, and says whose fault it
// is; a set without it lives on.
TEST_P(EveryPath, WhatALeaverLeavesUnfinishedEndsItsSetAlone) {
  Stuck stuck;
  run_ranks(3, [&](Engine& engine) {
    const auto whole = engine.add_process_set({0, 2}), broken = engine.add_process_set({1, 2});
    ASSERT_TRUE(whole.ok() && broken.ok());
    if (engine.rank() == 1) {
      stuck.begin_first(engine, broken.value());
      engine.shutdown();
      EXPECT_EQ(stuck.first.wait().code(), Code::shut_down);
      return stuck.go.release();
    }
    if (engine.rank() == 2) {
      stuck.begin_second(engine, broken.value());
      expect_blame(stuck.second.wait(), 1);
      EXPECT_EQ(stuck.second_stuck, Floats(8, 1.0f));
      expect_blame(reduce(engine, "next", broken.value()), 1);
    }
    EXPECT_TRUE(reduce(engine, "whole", whole.value()).ok());
    expect_blame(reduce(engine, "everyone"), 1);
    EXPECT_TRUE(reduce(engine, "whole again", whole.value()).ok());
  }, options());
}

// Each rank leaves once those before it have, by itself or because of what it saw.
TEST_P(EveryPath, AllNameTheFirstOfSeveralWhoLeft) {
  for (const bool because : {false, true}) {
    std::latch one_left(1), zero_left(1), three_left(1);
    run_ranks(5, [&](Engine& engine) {
      ASSERT_TRUE(engine.barrier().wait().ok());
      const auto leave = [&](std::latch& told) {
        engine.shutdown();
        told.count_down();
      };
      switch (engine.rank()) {
        case 1:
          return leave(one_left);
        case 0:                             // decides for the others until it leaves
          one_left.wait();
          if (because) expect_blame(reduce(engine, "x"), 1);
          return leave(zero_left);
        case 3:
          zero_left.wait();
          if (because) expect_blame(reduce(engine, "y"), 1);
          return leave(three_left);
        default:
          three_left.wait();
          expect_blame(reduce(engine, "z"), 1);
      }
    }, options());
  }
}

TEST_P(EveryPath, ARankThatLeavesBecauseOfAnotherIsNotTheCulprit) {
  for (int round = 0; round < 20; ++round) {
    run_ranks(3, [&](Engine& engine) {
      ASSERT_TRUE(engine.barrier().wait().ok());
      if (engine.rank() == 1) return;       // leaves in its destructor, and so do the others
      expect_blame(reduce(engine, cat("x", round)), 1);
    }, options());
  }
}

TEST_P(EveryPath, ALeaverOfAnotherSetIsNotBlamedForThisOne) {
  std::latch one_left(1), zero_left(1);
  run_ranks(4, [&](Engine& engine) {
    const auto odd = engine.add_process_set({0, 2, 3});
    ASSERT_TRUE(odd.ok() && engine.barrier().wait().ok());
    if (engine.rank() == 1) {
      engine.shutdown();
      return one_left.count_down();
    }
    one_left.wait();
    EXPECT_TRUE(reduce(engine, "odd", odd.value()).ok());
    if (engine.rank() == 0) {
      engine.shutdown();
      return zero_left.count_down();
    }
    zero_left.wait();
    expect_blame(reduce(engine, "odd again", odd.value()), 0);
    expect_blame(reduce(engine, "everyone"), 1);
  }, options());
}

TEST_P(EveryPath, APersistentOperationOfOneWhoLeftFails) {
  std::latch ran(3), left(1);
  run_ranks(3, [&](Engine& engine) {
    Floats data(16, 1.0f), other(16, 1.0f);
    auto early = engine.prepare_allreduce<float>("early", data);
    auto late = engine.prepare_allreduce<float>("late", other);
    ASSERT_TRUE(early.ok() && late.ok());
    ASSERT_TRUE(early->start().wait().ok());
    if (engine.rank() == 1) {
      ran.arrive_and_wait();
      engine.shutdown();
      return left.count_down();
    }
    const Ticket waiting = early->start();  // the leaver never starts this run
    ran.arrive_and_wait();
    expect_blame(waiting.wait(), 1);
    left.wait();
    expect_blame(late->start().wait(), 1);
    expect_blame(early->start().wait(), 1);
  }, options());
}

// Nobody asks a leaver whether it takes part in a planned bucket, so it ends the plan itself. In a
// deep tree the others hear of the plan's end through many hands, and of the leave directly.
class PlannedLeaving : public testing::TestWithParam<std::tuple<const char*, const char*, Rank>> {};

TEST_P(PlannedLeaving, OvertakesNoBucket) {
  const auto [order, transport, leaver] = GetParam();
  Options options = patient();
  options.order = order;
  options.transport = transport;
  options.tree_radix = 2;
  options.topo_patience_s = 1000;           // what ends the plan is the leave, not impatience
  run_ranks(8, [&](Engine& engine) {
    std::vector<Floats> data(3, Floats(32));
    const auto step = [&] {
      std::vector<Ticket> tickets;
      for (std::size_t i = 0; i < data.size(); ++i) {
        data[i].assign(32, static_cast<float>(i + 1));
        tickets.push_back(engine.allreduce<float>(cat("g", i), data[i], {.op = ReduceOp::sum}));
      }
      Status worst;
      for (const Ticket& ticket : tickets) {
        if (Status status = ticket.wait(); !status.ok()) worst = status;
      }
      return worst;
    };
    for (int i = 0; i < 60; ++i) {
      const Status status = step();
      ASSERT_TRUE(status.ok()) << status.to_string();
      EXPECT_EQ(data[2], Floats(32, 24.0f));
    }
    if (engine.rank() == leaver) return;
    expect_blame(step(), leaver);
  }, options);
}
INSTANTIATE_TEST_SUITE_P(Leaving, PlannedLeaving,
                         testing::Combine(testing::Values("topo", "auto"),
                                          testing::Values("auto", "tcp"), testing::Values(0, 3, 7)),
                         [](const auto& which) {
                           return cat(std::get<0>(which.param), "_", std::get<1>(which.param), "_",
                                      std::get<2>(which.param));
                         });

}  // namespace
}  // namespace unisono::engine
