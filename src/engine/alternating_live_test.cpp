// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Two optimizers and an evaluation take turns in a running engine: every sum is checked, results
// are the same bits on all ranks, and once all have a plan no control message is sent any more.
#include <gmock/gmock.h>

#include <atomic>
#include <barrier>
#include <cstring>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "base/data/text.hpp"
#include "engine/testing/thread_ranks.hpp"

namespace unisono::engine {
namespace {

constexpr int kTurnRanks = 3;

class Turns {
 public:
  explicit Turns(Engine& engine) : engine_(engine) {}

  // Several allreduces under one prefix, waited for at the end.
  void step(const std::string& prefix, std::size_t tensors, std::size_t elements) {
    Step step = submit(prefix, tensors, elements);
    finish(step);
    ++count_;
  }
  // Two such steps at once, in either order.
  void both(bool backwards) {
    std::vector<Step> steps;
    if (backwards) steps.push_back(submit("generator.", 3, 9000));
    steps.push_back(submit("discriminator.", 4, 300));
    if (!backwards) steps.push_back(submit("generator.", 3, 9000));
    for (Step& step : steps) finish(step);
    ++count_;
  }
  void cycle() {
    step("discriminator.", 4, 300);
    step("discriminator.", 4, 300);
    step("generator.", 3, 9000);
    if (++cycles_ % 3 == 0) step("evaluation.", 1, 1);
  }

 private:
  struct Step {
    std::string prefix;
    std::vector<std::vector<float>> data;
    std::vector<Ticket> tickets;
  };
  Step submit(const std::string& prefix, std::size_t tensors, std::size_t elements) {
    Step step{prefix, std::vector<std::vector<float>>(tensors), {}};
    for (std::size_t t = 0; t < tensors; ++t) {
      step.data[t].assign(elements, value(engine_.rank(), t));
      step.tickets.push_back(
          engine_.allreduce<float>(cat(prefix, t), step.data[t], {.op = ReduceOp::sum}));
    }
    return step;
  }
  void finish(Step& step) {
    for (const Ticket& ticket : step.tickets) ASSERT_TRUE(ticket.wait().ok());
    for (std::size_t t = 0; t < step.data.size(); ++t) {
      float sum = 0;
      for (int rank = 0; rank < engine_.size(); ++rank) sum += value(rank, t);
      for (const float element : step.data[t]) ASSERT_EQ(element, sum) << step.prefix << t;
    }
  }
  // In one binary digit each, so that sums are exact.
  float value(int rank, std::size_t t) const {
    return static_cast<float>((std::size_t{1} << rank) * (t + 1) + count_ % 5);
  }
  Engine& engine_;
  std::size_t count_ = 0, cycles_ = 0;
};

Options planned(int teams) {
  Options options;
  options.teams = teams;
  if (teams > 1) options.fusion_bytes = 2048;  // several buckets in each step
  options.order = "topo";
  options.planner = "threshold";            // finds nothing better after a while
  options.topo_patience_s = 30;
  return options;
}

std::vector<float> floats(const Output& output) {
  std::vector<float> values(output.bytes.size() / sizeof(float));
  std::memcpy(values.data(), output.bytes.data(), values.size() * sizeof(float));
  return values;
}

class AlternatingLive : public testing::TestWithParam<std::tuple<int, int>> {
 protected:
  void run(const std::function<void(Engine&)>& body) {
    const auto [ranks_per_host, teams] = GetParam();
    run_ranks(kTurnRanks, body, planned(teams), ranks_per_host);
  }
};

TEST_P(AlternatingLive, NoControlMessageOnceEveryTurnHasAPlan) {
  std::barrier<> all(kTurnRanks);
  run([&](Engine& engine) {
    Turns turns(engine);
    for (int i = 0; i < 60; ++i) turns.cycle();
    const OrderReport order = engine.stats().order;
    EXPECT_TRUE(order.planned) << order.reason;
    EXPECT_EQ(order.known.size(), 3u);
    all.arrive_and_wait();
    const std::uint64_t said = engine.stats().control_messages;
    for (int i = 0; i < 30; ++i) turns.cycle();
    EXPECT_EQ(engine.stats().control_messages, said) << engine.stats().order.reason;
    all.arrive_and_wait();
  });
}

// A planner that looks at costs may find a better plan once it knows them; then it is content.
TEST_P(AlternatingLive, NoControlMessageOncePlansByCostHaveSettled) {
  const auto [ranks_per_host, teams] = GetParam();
  std::barrier<> all(kTurnRanks);
  std::atomic<std::uint64_t> said{0};
  Options options = planned(teams);
  options.planner = "merged";
  options.fusion_bytes = 64 << 20;
  options.plan_codecs = "fp16";
  options.emulate = "alpha=100us,beta=10ns";
  run_ranks(kTurnRanks, [&](Engine& engine) {
    Turns turns(engine);
    for (int i = 0; i < 40; ++i) turns.cycle();
    bool settled = false;
    for (int look = 0; look < 30 && !settled; ++look) {
      all.arrive_and_wait();
      const std::uint64_t before = engine.stats().control_messages;
      for (int i = 0; i < 10; ++i) turns.cycle();
      all.arrive_and_wait();
      said += engine.stats().control_messages - before;
      all.arrive_and_wait();
      settled = said == 0;
      all.arrive_and_wait();
      if (engine.rank() == 0) said = 0;
    }
    const OrderReport order = engine.stats().order;
    EXPECT_TRUE(settled && order.planned) << order.reason;
    EXPECT_EQ(order.known.size(), 3u);
    all.arrive_and_wait();
  }, options, ranks_per_host);
}

INSTANTIATE_TEST_SUITE_P(RanksPerHostAndTeams, AlternatingLive,
                         testing::Combine(testing::Values(0, 1, 2), testing::Values(1, 3)));

// Ranks that take their turns in different orders, without waiting, are right all the same.
TEST_P(AlternatingLive, RanksThatChooseDifferentlyStillGetTheirSums) {
  std::barrier<> all(kTurnRanks);
  run([&](Engine& engine) {
    Turns turns(engine);
    for (int i = 0; i < 40; ++i) turns.cycle();
    for (int i = 0; i < 10; ++i) {
      turns.both(engine.rank() == i % kTurnRanks);
      turns.cycle();
    }
    all.arrive_and_wait();
  });
}

// Buffers from rank 0, statistics of every rank, and a sum in two phases, as training has them.
TEST_P(AlternatingLive, OtherKindsArePlannedToo) {
  std::barrier<> all(kTurnRanks);
  run([&](Engine& engine) {
    const int me = engine.rank();
    std::size_t count = 0;
    const auto step = [&] {
      const auto base = static_cast<float>(count++ % 11);
      std::vector<float> buffer(500, me == 0 ? base : -1), sum(100, base);
      std::vector<float> own(2 * (static_cast<std::size_t>(me) + 1), base + static_cast<float>(me));
      std::vector<float> parts(3000 * kTurnRanks, base + 1);
      std::vector<std::uint8_t> flags(40, static_cast<std::uint8_t>(1 << me));
      const Ticket broadcast = engine.broadcast<float>("buffers", buffer, 0);
      ASSERT_TRUE(broadcast.wait().ok());
      const Ticket gathered = engine.allgather<float>("statistics", own);
      const Ticket scattered = engine.reducescatter<float>("scatter", parts,
                                                           {.op = ReduceOp::sum});
      const Ticket summed = engine.allreduce<float>("sum", sum, {.op = ReduceOp::sum});
      const Ticket bytes = engine.allreduce<std::uint8_t>("flags", flags, {.op = ReduceOp::sum});
      for (const Ticket* ticket : {&gathered, &scattered, &summed, &bytes}) {
        ASSERT_TRUE(ticket->wait().ok());
      }
      for (const float value : buffer) ASSERT_EQ(value, base);
      for (const float value : sum) ASSERT_EQ(value, base * kTurnRanks);
      for (const std::uint8_t value : flags) ASSERT_EQ(value, 7);
      const std::vector<float> rows = floats(gathered.output());
      ASSERT_EQ(rows.size(), 12u);
      ASSERT_EQ(rows[0], base);
      ASSERT_EQ(rows[11], base + 2);
      const std::vector<float> part = floats(scattered.output());
      ASSERT_EQ(part.size(), 3000u);
      for (const float value : part) ASSERT_EQ(value, (base + 1) * kTurnRanks);
    };
    for (int i = 0; i < 30; ++i) step();
    const OrderReport order = engine.stats().order;
    EXPECT_TRUE(order.planned) << order.reason;
    all.arrive_and_wait();
    const std::uint64_t said = engine.stats().control_messages;
    for (int i = 0; i < 30; ++i) step();
    EXPECT_EQ(engine.stats().control_messages, said) << engine.stats().order.reason;
    all.arrive_and_wait();
  });
}

}  // namespace
}  // namespace unisono::engine
