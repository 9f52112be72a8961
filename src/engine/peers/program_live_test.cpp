// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// order=program in running engines, over shared memory, messages and TCP: nothing is said while all
// ranks make the same calls, and calls that differ fail on all of them, with both named.
#include <gmock/gmock.h>

#include <atomic>
#include <barrier>
#include <cstring>
#include <map>
#include <thread>

#include "base/data/text.hpp"
#include "engine/peers/tcp_ranks.hpp"
#include "engine/testing/thread_ranks.hpp"

namespace unisono::engine {
namespace {

using testing::HasSubstr;

Options in_program_order() {
  Options options;
  options.order = "program";
  options.stall_limit_s = 20;
  return options;
}

// How the ranks are joined.
class ProgramLive : public testing::TestWithParam<const char*> {
 protected:
  static void run(int ranks, const std::function<void(Engine&)>& body,
                  Options options = in_program_order()) {
    const std::string_view way = GetParam();
    if (way == "tcp") return run_tcp_ranks(ranks, body, options);
    if (way == "messages") options.transport = "tcp";
    run_ranks(ranks, body, options, way == "hosts" ? 2 : 0);
  }
};
INSTANTIATE_TEST_SUITE_P(Ways, ProgramLive, testing::Values("memory", "messages", "hosts", "tcp"),
                         [](const auto& param) { return std::string(param.param); });

std::vector<float> floats_of(const Ticket& ticket) {
  const Output output = ticket.output();
  std::vector<float> floats(output.bytes.size() / sizeof(float));
  if (!floats.empty()) std::memcpy(floats.data(), output.bytes.data(), output.bytes.size());
  return floats;
}

float sum_of_ranks(int n) { return static_cast<float>(n * (n + 1) / 2); }

// A step with every collective in it, most of it in flight at once; unnamed names never repeat.
void take_step(Engine& engine, int step, std::uint64_t& unnamed, ProcessSetId set = kWorld,
               int members = 0, int index = -1) {
  const int n = members == 0 ? engine.size() : members;
  const int me = index < 0 ? engine.rank() : index;
  const auto own = static_cast<float>(me + 1);
  const auto name = [&](const char* kind) { return cat(kind, ".noname.", ++unnamed); };
  const Settings in_set{.process_set = set};
  std::vector<float> small(5, own), large(70'000, own), copied(9, own), nothing;
  const std::vector<float> rows(static_cast<std::size_t>((me + step) % 3 * 2), own);
  const std::vector<float> equal(4, own);
  const std::vector<float> parts(static_cast<std::size_t>(n) * 3, own);
  std::vector<std::int64_t> splits(static_cast<std::size_t>(n), 3);
  if (step % 2 == 1 && n > 1 && me == 0) splits[0] = 1, splits[1] = 5;
  const Rank root = engine.size() == n ? step % n : 0;
  Settings summed = in_set, split = in_set;
  summed.op = ReduceOp::sum;
  split.splits = splits;
  const Ticket a = engine.allreduce<float>(name("allreduce"), small, summed);
  const Ticket g = engine.allgather<float>(name("allgather"), rows, in_set);
  const Ticket l = engine.allreduce<float>(name("allreduce"), large, summed);
  const Ticket b = engine.broadcast<float>(name("broadcast"), copied, root, in_set);
  const Ticket e = engine.allgather<float>(name("allgather"), equal, in_set);
  const Ticket r = engine.reducescatter<float>(name("reducescatter"), parts, summed);
  const Ticket t = engine.alltoall<float>(name("alltoall"), parts, split);
  const Ticket z = engine.allreduce<float>(name("allreduce"), nothing, summed);
  const Ticket w = engine.barrier(set);
  for (const Ticket* ticket : {&a, &g, &l, &b, &e, &r, &t, &z, &w}) {
    const Status status = ticket->wait();
    ASSERT_TRUE(status.ok()) << "step " << step << ": " << status.to_string();
  }
  EXPECT_EQ(small.back(), sum_of_ranks(n));
  EXPECT_EQ(large.front(), sum_of_ranks(n));
  EXPECT_EQ(large.back(), sum_of_ranks(n));
  EXPECT_EQ(copied.back(), static_cast<float>(root + 1));
  std::size_t count = 0;
  for (int i = 0; i < n; ++i) count += static_cast<std::size_t>((i + step) % 3 * 2);
  EXPECT_EQ(floats_of(g).size(), count);
  EXPECT_EQ(floats_of(e).size(), 4 * static_cast<std::size_t>(n));
  EXPECT_EQ(floats_of(e).back(), static_cast<float>(n));
  ASSERT_EQ(floats_of(r).size(), 3u);
  EXPECT_EQ(floats_of(r)[0], sum_of_ranks(n));
  EXPECT_EQ(floats_of(t).back(), static_cast<float>(n));
}

TEST_P(ProgramLive, NoControlMessageFromTheFirstStepOn) {
  for (const int ranks : {2, 4}) {
    std::barrier<> before_leaving(ranks);   // a rank that leaves says so
    run(ranks, [&](Engine& engine) {
      std::uint64_t unnamed = static_cast<std::uint64_t>(engine.rank()) * 100;
      for (int step = 0; step < 12; ++step) take_step(engine, step, unnamed);
      const Stats stats = engine.stats();
      before_leaving.arrive_and_wait();
      EXPECT_EQ(stats.control_messages, 0u);
      EXPECT_EQ(stats.order.strategy, "program");
      EXPECT_TRUE(stats.order.planned) << stats.order.reason;
    });
  }
}

// What the odd rank calls instead of an allreduce of eight floats.
using OddCall = std::function<Ticket(Engine&, std::vector<float>&, std::vector<double>&)>;

TEST_P(ProgramLive, DifferingCallsFailOnAllRanksWithBothNamed) {
  const std::map<std::string, OddCall> odd_calls = {
      {"broadcast \"w\" of float32 [8] from root 0",
       [](Engine& e, auto& floats, auto&) { return e.broadcast<float>("w", floats, 0); }},
      {"allreduce \"w\" of float64 [8], sum",
       [](Engine& e, auto&, auto& doubles) {
         return e.allreduce<double>("w", doubles, {.op = ReduceOp::sum});
       }},
      {"allreduce \"w\" of float32 [7], sum",
       [](Engine& e, auto& floats, auto&) {
         return e.allreduce<float>("w", std::span(floats).first(7), {.op = ReduceOp::sum});
       }},
      {"allreduce \"w\" of float32 [8], max",
       [](Engine& e, auto& floats, auto&) {
         return e.allreduce<float>("w", floats, {.op = ReduceOp::max});
       }},
      {"allreduce \"v\" of float32 [8], sum",
       [](Engine& e, auto& floats, auto&) {
         return e.allreduce<float>("v", floats, {.op = ReduceOp::sum});
       }},
      {"barrier", [](Engine& e, auto&, auto&) { return e.barrier(); }},
  };
  for (const auto& [named, call] : odd_calls) {
    for (const Rank odd : {0, 2}) {
      SCOPED_TRACE(cat(named, " on rank ", odd));
      run(3, [&](Engine& engine) {
        std::uint64_t unnamed = 0;
        take_step(engine, 0, unnamed);
        std::vector<float> floats(8, 1.5F);
        std::vector<double> doubles(8, 1.5);
        const Ticket ticket = engine.rank() == odd
                                  ? call(engine, floats, doubles)
                                  : engine.allreduce<float>("w", floats, {.op = ReduceOp::sum});
        std::vector<float> next(3, 1);
        const Ticket after = engine.allreduce<float>("next", next, {.op = ReduceOp::sum});
        const Status status = ticket.wait();
        EXPECT_EQ(status.code(), Code::mismatch) << status.to_string();
        EXPECT_THAT(status.message(), HasSubstr("Mismatched"));
        EXPECT_THAT(status.message(), HasSubstr(named));
        EXPECT_THAT(status.message(), HasSubstr("allreduce \"w\" of float32 [8], sum"));
        EXPECT_THAT(status.message(), HasSubstr(cat("rank ", odd, ": ")));
        EXPECT_EQ(floats, std::vector<float>(8, 1.5F)) << "nothing was summed";
        EXPECT_TRUE(after.wait().ok()) << "what follows runs";
        EXPECT_EQ(next[0], 3);
        for (int step = 1; step < 4; ++step) take_step(engine, step, unnamed);
      });
    }
  }
}

TEST_P(ProgramLive, AMissingRankIsNamedAndItsCallFailsToo) {
  Options options = in_program_order();
  options.stall_limit_s = 0.4;
  std::atomic<int> failed{0};
  run(3, [&](Engine& engine) {
    std::vector<float> data(8, 1);
    EXPECT_TRUE(engine.allreduce<float>("x", data).wait().ok());
    if (engine.rank() == 1) {
      while (failed < 2) std::this_thread::yield();
    }
    const Status status = engine.allreduce<float>("y", data).wait();
    EXPECT_EQ(status.code(), Code::stalled) << status.to_string();
    EXPECT_EQ(status.culprit().rank, 1);
    EXPECT_THAT(status.message(), HasSubstr("\"y\" has waited"));
    EXPECT_THAT(status.message(), HasSubstr("rank 1 has not (last it submitted \"x\""));
    ++failed;
    EXPECT_TRUE(engine.allreduce<float>("z", data).wait().ok());
  }, options);
}

TEST_P(ProgramLive, ALateRankOnlyMakesTheOthersWait) {
  Options options = in_program_order();
  options.stall_warning_s = 0.2;
  run(3, [&](Engine& engine) {
    std::uint64_t unnamed = 0;
    for (int step = 0; step < 3; ++step) {
      if (engine.rank() == step) std::this_thread::sleep_for(std::chrono::milliseconds(400));
      take_step(engine, step, unnamed);
    }
    for (int step = 3; step < 6; ++step) take_step(engine, step, unnamed);
  }, options);
}

TEST_P(ProgramLive, SetsPersistentOperationsAndJoinsAreAgreedOn) {
  run(4, [](Engine& engine) {
    std::uint64_t unnamed = 0;
    take_step(engine, 0, unnamed);
    auto evens = engine.add_process_set({0, 2});
    auto odds = engine.add_process_set({1, 3});
    ASSERT_TRUE(evens.ok() && odds.ok());
    const ProcessSetId mine = engine.rank() % 2 == 0 ? *evens : *odds;
    const std::uint64_t said = engine.stats().control_messages;
    // Both at once, each from a thread of its own: every set has an order of its own.
    std::thread other([&] {
      std::uint64_t own = 1000;
      for (int step = 0; step < 6; ++step) {
        std::vector<float> data(10, 1);
        EXPECT_TRUE(engine.allreduce<float>(cat("a.noname.", ++own), data,
                                            {.op = ReduceOp::sum, .process_set = mine}).wait().ok());
        EXPECT_EQ(data[0], 2);
      }
    });
    for (int step = 0; step < 6; ++step) take_step(engine, step, unnamed);
    other.join();
    EXPECT_EQ(engine.stats().control_messages, said);
    std::vector<float> kept(6, 1);
    auto persistent = engine.prepare_allreduce<float>("kept", kept, {.op = ReduceOp::sum});
    ASSERT_TRUE(persistent.ok()) << persistent.status().to_string();
    EXPECT_TRUE(persistent->start().wait().ok());
    EXPECT_EQ(kept[0], 4);
    std::vector<float> data(3, 1);
    if (engine.rank() != 3) {
      EXPECT_TRUE(engine.allreduce<float>("last", data, {.op = ReduceOp::sum}).wait().ok());
      EXPECT_EQ(data[0], 3) << "rank 3 has joined";
    }
    EXPECT_TRUE(engine.join_ranks().wait().ok());
    take_step(engine, 7, unnamed);
  });
}

TEST_P(ProgramLive, ARankThatLeavesIsNamed) {
  for (const Rank leaver : {0, 1}) {
    run(3, [&](Engine& engine) {
      std::uint64_t unnamed = 0;
      for (int step = 0; step < 2; ++step) take_step(engine, step, unnamed);
      if (engine.rank() == leaver) return;
      std::vector<float> data(8, 1);
      for (int i = 0; i < 3; ++i) {
        const Status status = engine.allreduce<float>(cat("x", i), data).wait();
        EXPECT_EQ(status.code(), Code::peer_left) << status.to_string();
        EXPECT_EQ(status.culprit().rank, leaver);
      }
    });
  }
}

TEST_P(ProgramLive, OtherStrategiesTakeOverAndGiveBack) {
  std::barrier<> before_leaving(3);
  run(3, [&](Engine& engine) {
    std::uint64_t unnamed = 0;
    for (const char* strategy : {"auto", "program", "tree", "program"}) {
      EXPECT_TRUE(engine.switch_order(strategy).wait().ok());
      for (int step = 0; step < 6; ++step) take_step(engine, step, unnamed);
    }
    const std::uint64_t said = engine.stats().control_messages;
    for (int step = 0; step < 6; ++step) take_step(engine, step, unnamed);
    EXPECT_EQ(engine.stats().control_messages, said);
    before_leaving.arrive_and_wait();
  });
}

TEST_P(ProgramLive, SeveralTeamsAndCodecsToo) {
  Options options = in_program_order();
  options.teams = 2;
  std::barrier<> before_leaving(3);
  run(3, [&](Engine& engine) {
    for (int step = 0; step < 4; ++step) {
      std::vector<float> a(5000, 1), b(5000, 1), c(64, 1);
      const Ticket x = engine.allreduce<float>("a", a, {.op = ReduceOp::sum, .codec = "bf16"});
      const Ticket y =
          engine.allreduce<float>("b", b, {.op = ReduceOp::sum, .codec = "ef|topk:512:4"});
      const Ticket z = engine.allreduce<float>("c", c, {.op = ReduceOp::sum, .team = 2});
      EXPECT_TRUE(x.wait().ok() && y.wait().ok() && z.wait().ok());
      EXPECT_EQ(a[9], 3);
      EXPECT_EQ(c[9], 3);
    }
    EXPECT_EQ(engine.stats().control_messages, 0u);
    before_leaving.arrive_and_wait();
  }, options);
}

}  // namespace
}  // namespace unisono::engine
