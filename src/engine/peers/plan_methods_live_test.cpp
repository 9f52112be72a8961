// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Plans that choose how their buckets travel, by what buckets take on a slow emulated network: codecs
// where they are allowed and nowhere else, the same on all ranks, also while plans are made anew.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "base/data/text.hpp"
#include "base/testing/effort.hpp"
#include "engine/peers/tcp_ranks.hpp"
#include "engine/testing/thread_ranks.hpp"

namespace unisono::engine {
namespace {

constexpr int kMethodRanks = 3;
// No 16-bit float has so many digits, so that whoever encodes it is found out.
constexpr float kFine = 1.0F + 1.0F / 65536;

Options slow_network(std::int64_t teams) {
  Options options;
  options.order = "topo";
  options.planner = "merged";
  options.topo_patience_s = 30;
  options.teams = teams;
  options.plan_codecs = "fp16,bf16";
  // 64 KiB take 2 ms, which no busy machine hides.
  options.emulate = "alpha=50us,beta=30ns";
  return options;
}

// Tensors of a step that differ in what may be done with them.
class MethodSteps {
 public:
  explicit MethodSteps(Engine& engine) : engine_(engine) {}

  // `apart`: how long the program computes between the two halves of its large tensors.
  void run(std::chrono::microseconds apart = {}) {
    const auto me = static_cast<float>(engine_.rank() + 1);
    const auto all = static_cast<float>(engine_.size());
    const float sum = all * (all + 1) / 2;
    std::vector<std::vector<float>> large(6, std::vector<float>(16'000, me));
    std::vector<float> exact(9000, kFine), asked(9000, me), least(500, me * kFine);
    std::vector<double> wide(3000, me);
    std::vector<std::int32_t> whole(3000, engine_.rank() + 70'001);
    std::vector<Ticket> tickets;
    const auto submit = [&]<typename T>(const std::string& name, std::vector<T>& data,
                                        Settings settings) {
      tickets.push_back(engine_.allreduce<T>(name, data, settings));
    };
    for (std::size_t t = 0; t < large.size(); ++t) {
      if (t == large.size() / 2 && apart.count() > 0) std::this_thread::sleep_for(apart);
      submit(cat("large", t), large[t], {.op = ReduceOp::sum});
    }
    submit("exact", exact, {.op = ReduceOp::sum, .codec = "none"});
    submit("not allowed", least, {.op = ReduceOp::min});
    submit("asked", asked, {.op = ReduceOp::sum, .codec = "bf16"});
    submit("wide", wide, {.op = ReduceOp::average, .plan_codecs = "fp16"});
    submit("whole", whole, {.op = ReduceOp::sum});
    for (const Ticket& ticket : tickets) ASSERT_TRUE(ticket.wait().ok());
    for (const auto& each : large) ASSERT_THAT(each, testing::Each(sum));
    ASSERT_THAT(exact, testing::Each(all * kFine));
    ASSERT_THAT(least, testing::Each(kFine));
    ASSERT_THAT(asked, testing::Each(sum));
    ASSERT_THAT(wide, testing::Each(double{sum} / double{all}));
    ASSERT_THAT(whole, testing::Each(70'001 * engine_.size() +
                                     engine_.size() * (engine_.size() - 1) / 2));
  }

 private:
  Engine& engine_;
};

// What plans say of their buckets, without why.
std::string methods_text(const OrderReport& order) {
  std::string text;
  for (const PlanReport& plan : order.known) {
    for (const PlanMethodReport& each : plan.methods) {
      text += cat(each.first, " ", each.tensors, " ", each.bytes, " ", each.channel, " ",
                  each.codec, " ", each.algorithm, "\n");
    }
  }
  return text;
}

// Asked between two barriers, within one plan. Returns the codecs of the buckets by first tensor.
std::map<std::string, std::string> agreed_codecs(Engine& engine, std::barrier<>& all,
                                                 std::mutex& mutex, std::vector<std::string>& said) {
  const OrderReport order = engine.stats().order;
  EXPECT_TRUE(order.planned) << order.reason;
  {
    const std::lock_guard lock(mutex);
    said.push_back(methods_text(order));
  }
  all.arrive_and_wait();
  for (const std::string& each : said) EXPECT_EQ(each, said.front());
  std::map<std::string, std::string> codecs;
  for (const PlanReport& plan : order.known) {
    for (const PlanMethodReport& each : plan.methods) {
      codecs[each.first] = each.codec;
      EXPECT_EQ(each.reason.empty(), engine.rank() != 0) << each.reason;
    }
  }
  all.arrive_and_wait();
  return codecs;
}

bool is_encoded(const std::map<std::string, std::string>& codecs, std::string_view by = "") {
  return std::any_of(codecs.begin(), codecs.end(), [&](const auto& each) {
    return each.first.starts_with("large") && (by.empty() ? !each.second.empty() : each.second == by);
  });
}

// Steps until large tensors are encoded. What buckets take is measured, and where other programs
// have the cores at first, plans become better later. All ranks have the same plan, and stop alike.
std::map<std::string, std::string> steps_until_encoded(Engine& engine, std::barrier<>& all,
                                                       std::mutex& mutex,
                                                       std::vector<std::string>& said,
                                                       std::string_view by = "") {
  MethodSteps steps(engine);
  std::map<std::string, std::string> codecs;
  for (int round = 0; round < 8 && !is_encoded(codecs, by); ++round) {
    for (int i = 0; i < 25; ++i) steps.run();
    codecs = agreed_codecs(engine, all, mutex, said);
    if (engine.rank() == 0) said.clear();
    all.arrive_and_wait();
  }
  return codecs;
}

void expect_codecs_where_allowed(const std::map<std::string, std::string>& codecs) {
  for (const auto& [first, codec] : codecs) {
    if (first == "wide") {
      EXPECT_THAT(codec, testing::AnyOf("", "fp16"));
    } else if (!first.starts_with("large")) {
      EXPECT_EQ(codec, "") << first;
    }
  }
  EXPECT_TRUE(is_encoded(codecs)) << "half of 64 KiB takes five milliseconds less";
}

class PlanMethodsLive : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Teams, PlanMethodsLive, testing::Values(1, 3));

TEST_P(PlanMethodsLive, CodecsAreChosenWhereTheyAreAllowedAndHelp) {
  std::barrier<> all(kMethodRanks);
  std::mutex mutex;
  std::vector<std::string> said;
  Options options = slow_network(GetParam());
  options.emulate = "alpha=50us,beta=150ns";  // ranks that wait for a core lose less than codecs save
  run_tcp_ranks(kMethodRanks, [&](Engine& engine) {
    expect_codecs_where_allowed(steps_until_encoded(engine, all, mutex, said));
    all.arrive_and_wait();
  }, options);
}

// Of tensors that are equal everywhere quantising takes nothing away, so that sums stay right.
TEST_P(PlanMethodsLive, CodecsThatPackAreChosenWhereTheyHelpMore) {
  std::barrier<> all(kMethodRanks);
  std::mutex mutex;
  std::vector<std::string> said;
  Options options = slow_network(GetParam());
  options.plan_codecs = "bf16,qsgd:8";
  options.emulate = "alpha=50us,beta=150ns";
  run_tcp_ranks(kMethodRanks, [&](Engine& engine) {
    const auto codecs = steps_until_encoded(engine, all, mutex, said, "qsgd:8");
    expect_codecs_where_allowed(codecs);
    EXPECT_TRUE(is_encoded(codecs, "qsgd:8")) << "a quarter of the bytes takes less than a half";
    EXPECT_FALSE(engine.stats().codecs.empty());
    all.arrive_and_wait();
  }, options);
}

TEST_P(PlanMethodsLive, NothingIsEncodedWhereSumsMustBeTheSameInEveryRun) {
  std::barrier<> all(kMethodRanks);
  Options options = slow_network(GetParam());
  options.deterministic = true;
  run_tcp_ranks(kMethodRanks, [&](Engine& engine) {
    MethodSteps steps(engine);
    for (int i = 0; i < 15; ++i) steps.run();
    for (const PlanReport& plan : engine.stats().order.known) {
      for (const PlanMethodReport& each : plan.methods) {
        EXPECT_EQ(each.codec, "");
        EXPECT_EQ(each.algorithm, "");
      }
    }
    all.arrive_and_wait();
  }, options);
}

// The program changes its pace, so that another arrangement ends sooner: after a while the plan is
// made anew, and neither before, nor meanwhile, nor afterwards is a sum wrong or lost.
TEST_P(PlanMethodsLive, PlansAreMadeAnewByMeasuredCostsAndNothingIsLost) {
  const int steps_max = short_of_time() ? 75 : 600;
  std::barrier<> all(kMethodRanks);
  std::mutex mutex;
  std::vector<std::string> said;
  std::vector<std::uint64_t> digests(kMethodRanks);
  std::atomic<bool> enough{false};
  run_tcp_ranks(kMethodRanks, [&](Engine& engine) {
    MethodSteps steps(engine);
    for (int i = 0; i < 20; ++i) steps.run();
    const std::uint64_t before = engine.stats().order.plans;
    constexpr int kLook = 25;
    for (int i = 0; i < steps_max && !enough; i += kLook) {
      for (int k = 0; k < kLook; ++k) steps.run(std::chrono::milliseconds(4));
      all.arrive_and_wait();
      const OrderReport order = engine.stats().order;
      if (engine.rank() == 0) enough = order.planned && order.plans > before;
      all.arrive_and_wait();
    }
    for (int i = 0; i < 20; ++i) steps.run(std::chrono::milliseconds(4));
    digests[static_cast<std::size_t>(engine.rank())] = engine.stats().order_digest;
    all.arrive_and_wait();
  }, slow_network(GetParam()));
  for (const std::uint64_t digest : digests) EXPECT_EQ(digest, digests.front());
  // Times are real here; that drift ends a plan is shown under virtual time (PlanDrift).
  if (!enough) GTEST_SKIP() << "too busy a machine to tell one arrangement from another";
}

// Also through the memory of hosts, and where all ranks share one.
TEST(PlanMethods, SumsAreRightOverEveryKindOfMemory) {
  for (const int ranks_per_host : {0, 1, 2}) {
    std::barrier<> all(4);
    std::mutex mutex;
    std::vector<std::string> said;
    run_ranks(4, [&](Engine& engine) {
      MethodSteps steps(engine);
      for (int i = 0; i < 25; ++i) steps.run();
      expect_codecs_where_allowed(agreed_codecs(engine, all, mutex, said));
      all.arrive_and_wait();
    }, slow_network(2), ranks_per_host);
  }
}

}  // namespace
}  // namespace unisono::engine
