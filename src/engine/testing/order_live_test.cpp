// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Ordering strategies in a running engine: what they cost, and what happens when a step changes.
#include <atomic>
#include <barrier>
#include <chrono>
#include <map>
#include <string>
#include <thread>

#include "base/data/rng.hpp"
#include "base/data/text.hpp"
#include "engine/testing/thread_ranks.hpp"

namespace unisono::engine {
namespace {

constexpr int kRanks = 3;
constexpr std::size_t kTensors = 12;

Options ordered_by(const char* strategy) {
  Options options;
  options.order = strategy;
  options.topo_patience_s = 0.25;
  options.stall_limit_s = 4;
  return options;
}

// One rank that trains: every step the same tensors in an order of its own.
class Trainer {
 public:
  explicit Trainer(Engine& engine)
      : engine_(engine), rng_(static_cast<std::uint64_t>(engine.rank()) + 11) {}

  void steps(int count) {
    for (int i = 0; i < count; ++i) step();
  }
  // A step that is the same on all ranks: everything comes out right.
  void step() {
    const auto outcome = step_without("");
    for (const auto& [name, status] : outcome)
      ASSERT_TRUE(status.ok()) << name << status.to_string();
  }
  // The same without one tensor, with one more, or with one of another shape, on this rank; what is
  // reported as done is right.
  std::map<std::string, Status> step_without(const std::string& dropped,
                                             const std::string& extra = "",
                                             const std::string& reshaped = "") {
    std::vector<std::string> names;
    for (std::size_t t = 0; t < kTensors; ++t) {
      if (cat("t", t) != dropped) names.push_back(cat("t", t));
    }
    if (!extra.empty()) names.push_back(extra);
    if (!hidden_) rng_.shuffle(names);
    std::map<std::string, std::vector<float>> data;
    std::vector<std::pair<std::string, Ticket>> tickets;
    for (const std::string& name : names) {
      data[name].assign(name == reshaped ? 7 : 100, static_cast<float>(engine_.rank() + 1));
      tickets.emplace_back(name, engine_.allreduce<float>(name, data[name], {.op = ReduceOp::sum}));
      if (hidden_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::map<std::string, Status> outcome;
    for (const auto& [name, ticket] : tickets) {
      outcome[name] = ticket.wait();
      if (!outcome[name].ok()) continue;
      for (const float value : data[name]) EXPECT_EQ(value, 6.0F) << name;
    }
    return outcome;
  }
  // From now on all ranks submit in one order and compute in between, so that communication has
  // usually ended before the next tensor is submitted.
  void hide_communication() { hidden_ = true; }
  std::uint64_t control_messages() const { return engine_.stats().control_messages; }

 private:
  Engine& engine_;
  Rng rng_;
  bool hidden_ = false;
};

// The ranks, outside the engine: they take steps until none of them has said anything for a while.
// How long a plan takes to come about is counted in steps; a rank that the machine keeps from
// running for longer than the others' patience only makes them count again.
class Together {
 public:
  bool become_silent(Trainer& trainer) {
    constexpr int kBatch = 8, kBatchesMax = 200;
    bool silent = false;
    for (int batch = 0; batch < kBatchesMax && !silent; ++batch) {
      const std::uint64_t before = trainer.control_messages();
      trainer.steps(kBatch);
      if (trainer.control_messages() != before) talked_ = true;
      meet();                           // all have said whether they talked
      silent = !talked_;
      meet();                           // all have read it
      talked_ = false;
      meet();
    }
    return silent;
  }
  // A rank that goes on at once would make up for what it left out, or make the others talk before
  // they have counted.
  void meet() { barrier_.arrive_and_wait(); }

 private:
  std::barrier<> barrier_{kRanks};
  std::atomic<bool> talked_{false};
};

TEST(OrderLive, CacheHitsGrowAndSaveControlBytes) {
  std::map<std::string, std::uint64_t> bytes;
  for (const char* strategy : {"coordinator", "cache"}) {
    run_ranks(kRanks, [&](Engine& engine) {
      Trainer trainer(engine);
      trainer.steps(5);
      const Stats before = engine.stats();
      trainer.steps(20);
      const Stats after = engine.stats();
      const bool cached = engine.options().order == "cache";
      EXPECT_EQ(after.cache_hits - before.cache_hits, cached ? 20 * kTensors : 0u);
      EXPECT_EQ(after.cache_misses, cached ? kTensors : 0u);
      if (engine.rank() != kRanks - 1) return;
      bytes[strategy] = after.control_bytes - before.control_bytes;
    }, ordered_by(strategy));
  }
  EXPECT_LT(bytes["cache"] * 2, bytes["coordinator"]);
}

TEST(OrderLive, TopoSendsNothingOnceItHasAPlan) {
  Together ranks;
  run_ranks(kRanks, [&](Engine& engine) {
    Trainer trainer(engine);
    EXPECT_TRUE(ranks.become_silent(trainer));
    ranks.meet();
  }, ordered_by("topo"));
}

// Nobody looks before the step's end at what has ended: there is no reason to divide the step.
TEST(OrderLive, HiddenCommunicationStaysOneBucket) {
  Together ranks;
  Options options = ordered_by("topo");
  options.planner = "single";
  run_ranks(kRanks, [&](Engine& engine) {
    Trainer trainer(engine);
    trainer.hide_communication();
    EXPECT_TRUE(ranks.become_silent(trainer));
    const std::uint64_t before = engine.stats().buckets;
    trainer.steps(1);
    EXPECT_EQ(engine.stats().buckets, before + 1);
    ranks.meet();
  }, options);
}

TEST(OrderLive, SwitchingWhileTrainingKeepsSumsRightAndOneOrder) {
  std::vector<std::uint64_t> digests(kRanks);
  run_ranks(kRanks, [&](Engine& engine) {
    Trainer trainer(engine);
    trainer.steps(10);
    for (const char* strategy : {"cache", "topo", "tree", "coordinator", "topo"}) {
      const Ticket ticket = engine.switch_order(strategy);
      trainer.steps(15);
      ASSERT_TRUE(ticket.wait().ok()) << strategy;
    }
    EXPECT_GT(engine.stats().cache_hits, 0u);
    digests[static_cast<std::size_t>(engine.rank())] = engine.stats().order_digest;
  }, ordered_by("coordinator"));
  // Plans were taken back on the way; even so, what ran is the same on all ranks.
  for (const std::uint64_t digest : digests) EXPECT_EQ(digest, digests.front());
}

// What changes in one step on the last rank.
struct Change {
  const char* what;
  const char* dropped;
  const char* extra;
  const char* reshaped;
  const char* troubled;                 // the tensor that may fail
};

class OrderLiveChange : public testing::TestWithParam<Change> {};

TEST_P(OrderLiveChange, EndsOnAllRanksAndIsPlannedAgain) {
  Together ranks;
  run_ranks(kRanks, [&](Engine& engine) {
    const Change& change = GetParam();
    Trainer trainer(engine);
    EXPECT_TRUE(ranks.become_silent(trainer));
    const bool odd = engine.rank() == kRanks - 1;
    const auto outcome = odd ? trainer.step_without(change.dropped, change.extra, change.reshaped)
                             : trainer.step_without("");
    for (const auto& [name, status] : outcome) {
      if (name == change.troubled) {
        EXPECT_FALSE(status.ok());
        EXPECT_NE(status.message().find(name), std::string::npos) << status.to_string();
      } else {
        EXPECT_TRUE(status.ok()) << name << ": " << status.to_string();
      }
    }
    ranks.meet();
    EXPECT_TRUE(ranks.become_silent(trainer));
    ranks.meet();
  }, ordered_by("topo"));
}

INSTANTIATE_TEST_SUITE_P(All, OrderLiveChange,
                         testing::Values(Change{"dropped", "t3", "", "", "t3"},
                                         Change{"extra", "", "more", "", "more"},
                                         Change{"reshaped", "", "", "t5", "t5"}),
                         [](const auto& param) { return std::string(param.param.what); });

Options paced_by(const char* pacing) {
  Options options = ordered_by("cache");
  options.pacing = pacing;
  return options;
}

// The engine's thread of one rank is held in a callback until the other's has been seen to spin.
TEST(PacingLive, AThreadSpinsWhileAnotherRankIsLate) {
  for (const char* pacing : {"cycle", "gs"}) {
    std::atomic<bool> spun{false};
    run_ranks(2, [&](Engine& engine) {
      std::vector<float> data(8, 1.0F);
      Settings settings;
      if (engine.rank() == 1) settings.on_done = [&](const Status&) { spun.wait(false); };
      const Ticket ticket = engine.allreduce<float>("x", data, settings);
      while (!spun) {
        if (engine.rank() == 0 && engine.stats().spinning_s > 0) spun = true;
        std::this_thread::yield();
      }
      spun.notify_all();
      EXPECT_TRUE(ticket.wait().ok());
    }, paced_by(pacing));
    EXPECT_TRUE(spun) << pacing;
  }
}

TEST(PacingLive, NobodySpinsUnderOtherPacings) {
  for (const char* pacing : {"nbcs", "event"}) {
    run_ranks(2, [&](Engine& engine) {
      std::vector<float> data(8, 1.0F);
      for (int i = 0; i < 20; ++i) {
        EXPECT_TRUE(engine.allreduce<float>("x", data).wait().ok());
      }
      EXPECT_EQ(engine.stats().spinning_s, 0) << pacing;
    }, paced_by(pacing));
  }
}

}  // namespace
}  // namespace unisono::engine
