// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Algorithms chosen by trials in a running engine: sizes, dtypes, sets, teams and orders mixed. Every
// sum is right, and all members of a set report the same choices with the same figures.
#include <gmock/gmock.h>

#include <cstring>
#include <mutex>

#include "base/data/text.hpp"
#include "base/testing/effort.hpp"
#include "engine/testing/thread_ranks.hpp"
#include "kernels/kernels.hpp"

namespace unisono::engine {
namespace {

using testing::HasSubstr;

struct Load {
  const char* name;
  DType dtype;
  std::size_t count;
};
constexpr Load kLoads[] = {{"tiny", DType::f32, 3},        {"small", DType::f64, 700},
                           {"middle", DType::f32, 9'000},  {"whole", DType::i32, 20'000},
                           {"short", DType::bf16, 30'001}, {"large", DType::f32, 150'000}};

// Small whole numbers, which every dtype adds up exactly.
float value_of_rank(int rank, std::size_t i, int step) {
  return static_cast<float>((static_cast<std::size_t>(rank + step) + i) % 5);
}

std::vector<std::byte> brought_by(const std::vector<Rank>& ranks, const Load& load, int step) {
  std::vector<float> values(load.count);
  for (std::size_t i = 0; i < load.count; ++i) {
    for (const Rank rank : ranks) values[i] += value_of_rank(rank, i, step);
  }
  std::vector<std::byte> out(load.count * size_of(load.dtype));
  kernels::cast(load.dtype, out.data(), DType::f32, values.data(), values.size());
  return out;
}

void reduce_all(Engine& engine, ProcessSetId set, int step) {
  const std::vector<Rank> ranks = engine.process_set(set);
  std::vector<std::vector<std::byte>> data;
  std::vector<Ticket> tickets;
  for (const Load& load : kLoads) {
    data.push_back(brought_by({engine.rank()}, load, step));
    Settings settings{.op = ReduceOp::sum};
    settings.process_set = set;
    tickets.push_back(engine.submit({.name = load.name,
                                     .dtype = load.dtype,
                                     .shape = {static_cast<std::int64_t>(load.count)},
                                     .input = data.back().data(),
                                     .output = data.back().data()},
                                    settings));
  }
  for (std::size_t i = 0; i < tickets.size(); ++i) {
    const Status status = tickets[i].wait();
    ASSERT_TRUE(status.ok()) << status.to_string();
    ASSERT_EQ(data[i], brought_by(ranks, kLoads[i], step)) << kLoads[i].name << ", step " << step;
  }
}

std::string told_about(const Explanation& all, ProcessSetId set) {
  Explanation part;
  for (const AlgorithmChoice& choice : all.choices) {
    if (choice.set == set) part.choices.push_back(choice);
  }
  return part.text();
}

struct SelectionCase {
  int ranks;
  const char* order;
  std::int64_t teams;
  const char* codec;
};
class Selection : public testing::TestWithParam<SelectionCase> {};
INSTANTIATE_TEST_SUITE_P(
    Jobs, Selection,
    testing::Values(SelectionCase{2, "cache", 1, "none"}, SelectionCase{3, "coordinator", 2, "none"},
                    SelectionCase{4, "topo", 1, "none"}, SelectionCase{4, "topo", 3, "none"},
                    SelectionCase{5, "tree", 2, "fp16"}, SelectionCase{3, "auto", 1, "none"},
                    SelectionCase{9, "cache", 1, "none"}),
    [](const auto& row) {
      return cat(row.param.order, row.param.ranks, "ranks", row.param.teams, "teams",
                 row.param.codec);
    });

TEST_P(Selection, SumsAreRightAndAllMembersChooseAlike) {
  if (short_of_time() && GetParam().ranks > 5) GTEST_SKIP() << "nine ranks take minutes there";
  Options options;
  options.transport = "tcp";
  options.order = GetParam().order;
  options.teams = GetParam().teams;
  options.codec = GetParam().codec;
  options.fusion_bytes = 128 << 10;
  std::mutex mutex;
  std::vector<std::pair<ProcessSetId, std::string>> told;
  run_ranks(GetParam().ranks, [&](Engine& engine) {
    const Rank last = static_cast<Rank>(engine.size() - 1);
    const auto pair = engine.add_process_set({0, last});
    ASSERT_TRUE(pair.ok());
    const bool inside = engine.rank() == 0 || engine.rank() == last;
    for (int step = 0; step < 16; ++step) {
      reduce_all(engine, kWorld, step);
      if (inside && step % 2 == 0) reduce_all(engine, pair.value(), step);
      if (testing::Test::HasFatalFailure()) return;
    }
    // Also ends a plan that some members had begun once more.
    if (inside) { ASSERT_TRUE(engine.barrier(pair.value()).wait().ok()); }
    ASSERT_TRUE(engine.barrier().wait().ok());
    const Explanation all = engine.explain();
    std::lock_guard lock(mutex);
    told.emplace_back(kWorld, told_about(all, kWorld));
    if (inside) told.emplace_back(pair.value(), told_about(all, pair.value()));
  }, options);
  ASSERT_FALSE(told.empty());
  for (const auto& [set, text] : told) {
    EXPECT_THAT(text, HasSubstr("Algorithms over messages"));
    for (const auto& [other_set, other] : told) {
      if (set == other_set) { EXPECT_EQ(text, other); }
    }
  }
}

std::string_view reason_of_only(const Engine& engine, ProcessSetId set) {
  static thread_local std::string reason;
  reason.clear();
  for (const AlgorithmChoice& choice : engine.explain().choices) {
    if (choice.set == set) reason += choice.reason;
  }
  return reason;
}

TEST(SelectionLive, ASetOfTheSameLayoutNeedNotTryAgain) {
  Options options;
  options.transport = "tcp";
  run_ranks(3, [](Engine& engine) {
    std::vector<float> data(50'000);
    const auto reduce = [&](ProcessSetId set) {
      Settings settings{.op = ReduceOp::sum};
      settings.process_set = set;
      ASSERT_TRUE(engine.allreduce<float>("x", data, settings).wait().ok());
    };
    const ProcessSetId first = engine.add_process_set({0, 1}).value();
    if (engine.rank() < 2) {
      for (int i = 0; i < 12; ++i) reduce(first);
      EXPECT_THAT(reason_of_only(engine, first), testing::Not(HasSubstr("on trial")));
    }
    ASSERT_TRUE(engine.remove_process_set(first).ok());
    const ProcessSetId second = engine.add_process_set({0, 1}).value();
    if (engine.rank() < 2) {
      reduce(second);
      EXPECT_THAT(reason_of_only(engine, second), HasSubstr("tried it before"));
    }
    ASSERT_TRUE(engine.barrier().wait().ok());
  }, options);
}

TEST(SelectionLive, PinnedAndDeterministicEnginesTryNothing) {
  for (const bool deterministic : {false, true}) {
    Options options;
    options.transport = "tcp";
    options.deterministic = deterministic;
    if (!deterministic) options.algorithm = "halving_doubling";
    run_ranks(3, [&](Engine& engine) {
      std::vector<float> data(5000, 1);
      ASSERT_TRUE(engine.allreduce<float>("x", data, {.op = ReduceOp::sum}).wait().ok());
      const Explanation all = engine.explain();
      ASSERT_EQ(all.choices.size(), 1u);
      EXPECT_EQ(all.choices[0].algorithm, deterministic ? "direct" : "halving_doubling");
      EXPECT_TRUE(all.choices[0].frozen && all.choices[0].candidates.empty());
    }, options);
  }
}

TEST(SelectionLive, MembersThatShareMemoryHaveNothingToChoose) {
  run_ranks(2, [](Engine& engine) {
    std::vector<float> data(5000, 1);
    ASSERT_TRUE(engine.allreduce<float>("x", data, {.op = ReduceOp::sum}).wait().ok());
    EXPECT_THAT(engine.explain().text(), HasSubstr("ranks that share memory need none"));
  });
}

}  // namespace
}  // namespace unisono::engine
