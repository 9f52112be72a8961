// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Allreduces by codecs that pick, quantise or factor, through whole engines: all ranks get the same
// bits, nothing is lost where there is feedback, and what is no number stops at the door.
#include <gtest/gtest.h>

#include <barrier>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/data/rng.hpp"
#include "base/data/text.hpp"
#include "engine/testing/thread_ranks.hpp"

namespace unisono::engine {
namespace {

using Floats = std::vector<float>;

Floats random_gradient(std::size_t count, Rank rank, int step) {
  Rng rng(static_cast<std::uint64_t>(rank * 1000 + step));
  Floats out(count);
  for (float& value : out) value = static_cast<float>(rng.uniform() * 2 - 1);
  return out;
}

// Every rank's results, compared when all have come.
class SameEverywhere {
 public:
  explicit SameEverywhere(int ranks) : barrier_(ranks), results_(static_cast<std::size_t>(ranks)) {}
  void expect_same(Rank rank, const Floats& result) {
    results_[static_cast<std::size_t>(rank)] = result;
    barrier_.arrive_and_wait();
    EXPECT_EQ(std::memcmp(results_[0].data(), result.data(), result.size() * sizeof(float)), 0);
    barrier_.arrive_and_wait();
  }

 private:
  std::barrier<> barrier_;
  std::vector<Floats> results_;
};

struct Packed {
  const char* codec;
  int ranks;
  const char* algorithm = "auto";
  const char* transport = "auto";
};

class PackedLive : public testing::TestWithParam<Packed> {};
INSTANTIATE_TEST_SUITE_P(
    All, PackedLive,
    testing::Values(Packed{"qsgd:4", 1}, Packed{"qsgd:8", 3}, Packed{"qsgd:2", 4, "auto", "tcp"},
                    Packed{"ef|qsgd:4", 3}, Packed{"ef|qsgd:2", 3, "ring"},
                    Packed{"qsgd:8", 5, "ring"}, Packed{"ef|fp8:e4m3", 2}, Packed{"fp8:e5m2", 3},
                    Packed{"ef|fp16", 3}, Packed{"clip:3|bf16", 2}, Packed{"ef|topk:512:4", 3},
                    Packed{"ef|topk:512:4|qsgd:4", 4}, Packed{"ef|topk:64:16|qsgd:8", 3},
                    Packed{"ef|topk:global:0.02|fp16", 3, "auto", "tcp"},
                    Packed{"ef|topk:512:1", 1}, Packed{"ef|threshold:0.9", 3},
                    Packed{"ef|momentum:0.9|topk:512:4", 2}, Packed{"topk:512:16", 2},
                    Packed{"ef|warmup:3|topk:512:2|qsgd:4", 3}, Packed{"ef|powersgd:2", 3},
                    Packed{"powersgd:4", 2}, Packed{"ef|powersgd:1", 1}),
    [](const auto& row) {
      std::string name = cat(row.param.codec, "_", row.param.ranks, "_", row.param.algorithm, "_",
                             row.param.transport);
      for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
      return name;
    });

Options options_of(const Packed& path) {
  Options options;
  options.algorithm = path.algorithm;
  options.transport = path.transport;
  return options;
}

bool keeps_everything(const CodecSpec& codec) {
  return codec.feedback && codec.momentum == 0 && codec.clip == 0;
}

TEST_P(PackedLive, AllRanksGetTheSameBitsAndNothingIsLost) {
  const Packed path = GetParam();
  const CodecSpec codec = parse_codec(path.codec).value();
  SameEverywhere together(path.ranks);
  std::mutex mutex;
  constexpr std::size_t kRows = 70, kColumns = 90, kCount = kRows * kColumns;
  std::vector<double> in(kCount, 0), out(kCount, 0), kept(kCount, 0);
  run_ranks(path.ranks, [&](Engine& engine) {
    for (int step = 0; step < 6; ++step) {
      Floats data = random_gradient(kCount, engine.rank(), step);
      {
        const std::lock_guard lock(mutex);
        for (std::size_t i = 0; i < kCount; ++i) in[i] += static_cast<double>(data[i]);
      }
      Operation operation{.kind = Collective::allreduce, .name = "layer",
                          .shape = {kRows, kColumns}, .input = data.data(), .output = data.data()};
      const Status status =
          engine.submit(operation, {.op = ReduceOp::sum, .codec = path.codec}).wait();
      ASSERT_TRUE(status.ok()) << status.to_string();
      together.expect_same(engine.rank(), data);
      if (engine.rank() != 0) continue;
      for (std::size_t i = 0; i < kCount; ++i) out[i] += static_cast<double>(data[i]);
    }
    const Stats stats = engine.stats();
    ASSERT_EQ(stats.codecs.size(), 1u);
    const CodecReport& report = stats.codecs[0];
    EXPECT_EQ(report.codec, codec.text());
    EXPECT_EQ(report.tensors, 6u);
    EXPECT_EQ(report.bytes, 6 * kCount * 4);
    EXPECT_GT(report.packed_bytes, 0u);
    if (codec.warmup == 0 && codec.pick != CodecPick::threshold) {
      EXPECT_LT(report.packed_bytes, report.bytes);
    }
    EXPECT_EQ(report.residual_norm > 0, codec.feedback);
    EXPECT_FALSE(report.exchange.empty());
    const Floats residual = engine.take_residual("layer").value();
    const std::lock_guard lock(mutex);
    for (std::size_t i = 0; i < residual.size(); ++i) kept[i] += static_cast<double>(residual[i]);
  }, options_of(path));
  if (!keeps_everything(codec)) return;
  for (std::size_t i = 0; i < kCount; ++i) ASSERT_NEAR(in[i], out[i] + kept[i], 1e-4) << i;
}

TEST_P(PackedLive, GroupsOfAllSizesAndTypesComeThrough) {
  const Packed path = GetParam();
  SameEverywhere together(path.ranks);
  run_ranks(path.ranks, [&](Engine& engine) {
    const std::size_t counts[] = {0, 1, 5, 513, 1024, 3000};
    std::vector<Floats> data;
    std::vector<Operation> operations;
    for (const std::size_t count : counts) {
      data.push_back(random_gradient(count, engine.rank(), static_cast<int>(count)));
    }
    for (std::size_t t = 0; t < data.size(); ++t) {
      operations.push_back({.kind = Collective::allreduce, .name = cat("t", t),
                            .shape = {static_cast<std::int64_t>(counts[t])},
                            .input = data[t].data(), .output = data[t].data()});
    }
    const Settings settings{.op = ReduceOp::average, .prescale = 0.5, .postscale = 2.0,
                            .codec = path.codec};
    for (const Ticket& ticket : engine.submit_group("all", operations, settings)) {
      ASSERT_TRUE(ticket.wait().ok()) << ticket.wait().to_string();
    }
    Floats all;
    for (const Floats& each : data) all.insert(all.end(), each.begin(), each.end());
    together.expect_same(engine.rank(), all);
    std::vector<double> wide(777, 0.25);
    ASSERT_TRUE(engine.allreduce<double>("wide", wide, {.codec = path.codec}).wait().ok());
    EXPECT_LE(std::fabs(wide[0]), 0.5);
  }, options_of(path));
}

TEST_P(PackedLive, WhatIsNoNumberOnOneRankIsNaNOnAllAndNothingKeptChanges) {
  const Packed path = GetParam();
  run_ranks(path.ranks, [&](Engine& engine) {
    Floats data = random_gradient(2000, engine.rank(), 1);
    ASSERT_TRUE(engine.allreduce<float>("x", data, {.codec = path.codec}).wait().ok());
    const auto before = engine.codec_state().value();
    data = random_gradient(2000, engine.rank(), 2);
    if (engine.rank() == engine.size() - 1) data[77] = std::numeric_limits<float>::infinity();
    ASSERT_TRUE(engine.allreduce<float>("x", data, {.codec = path.codec}).wait().ok());
    for (const float value : data) ASSERT_TRUE(std::isnan(value));
    EXPECT_EQ(engine.codec_state().value(), before);
    EXPECT_EQ(engine.stats().codecs[0].skipped, 1u);
  }, options_of(path));
}

TEST_P(PackedLive, ASavedStateGoesOnWithTheSameBits) {
  const Packed path = GetParam();
  run_ranks(path.ranks, [&](Engine& engine) {
    const auto step = [&](int number) {
      Floats data = random_gradient(3000, engine.rank(), number);
      EXPECT_TRUE(engine.allreduce<float>("x", data, {.codec = path.codec}).wait().ok());
      return data;
    };
    step(0);
    const auto saved = engine.codec_state().value();
    const Floats first = step(1), second = step(2);
    ASSERT_TRUE(engine.barrier().wait().ok());
    ASSERT_TRUE(engine.load_codec_state(saved).ok());
    ASSERT_TRUE(engine.barrier().wait().ok());
    EXPECT_EQ(step(1), first);
    EXPECT_EQ(step(2), second);
    EXPECT_FALSE(engine.load_codec_state(std::span(saved).first(saved.size() - 1)).ok());
  }, options_of(path));
}

TEST(Packed, RanksThatDifferAreNamed) {
  run_ranks(2, [](Engine& engine) {
    Floats data(8, 1.0F);
    const Status status =
        engine.allreduce<float>("x", data, {.codec = engine.rank() == 0 ? "qsgd:4" : "qsgd:8"})
            .wait();
    EXPECT_EQ(status.code(), Code::mismatch);
    EXPECT_NE(status.message().find("qsgd:4"), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("qsgd:8"), std::string::npos) << status.message();
  });
}

TEST(Packed, TheJobsCodecAndItsRulesHoldWhereACallSaysNothing) {
  Options options;
  ASSERT_TRUE(options.set("codec", "ef | topk:512:4").ok());
  ASSERT_TRUE(options.set("codec_rules", "*.bias=none,embed*=qsgd:8").ok());
  run_ranks(2, [](Engine& engine) {
    for (const char* name : {"conv.weight", "conv.bias", "embedding"}) {
      Floats data(600, 1.0F);
      EXPECT_TRUE(engine.allreduce<float>(name, data).wait().ok());
      EXPECT_EQ(data[599], name == std::string("conv.weight") ? 0.0F : 1.0F) << name;
    }
    std::vector<std::int32_t> integers(600, 3);
    EXPECT_TRUE(engine.allreduce<std::int32_t>("counts", integers, {.op = ReduceOp::max}).wait().ok());
    EXPECT_EQ(integers[599], 3);
    EXPECT_EQ(engine.stats().codecs.size(), 2u);
  }, options);
}

// A layer that is not used in a step, or of which one sample has been seen.
TEST(Packed, FactorsOfANullOrThinGradientComeBack) {
  constexpr std::size_t kRows = 30, kColumns = 40, kCount = kRows * kColumns;
  std::mutex mutex;
  std::vector<double> in(kCount, 0), out(kCount, 0), kept(kCount, 0);
  run_ranks(2, [&](Engine& engine) {
    for (int step = 0; step < 40; ++step) {
      Floats data(kCount, 0.0F);
      if (step == 1) {
        for (std::size_t i = 0; i < kCount; ++i) data[i] = i % kColumns == 3 ? 1.0F : 0.0F;
      } else if (step > 1) {
        data = random_gradient(kCount, engine.rank(), 7);
      }
      {
        const std::lock_guard lock(mutex);
        for (std::size_t i = 0; i < kCount; ++i) in[i] += static_cast<double>(data[i]);
      }
      Operation operation{.kind = Collective::allreduce, .name = "layer",
                          .shape = {kRows, kColumns}, .input = data.data(), .output = data.data()};
      ASSERT_TRUE(
          engine.submit(operation, {.op = ReduceOp::sum, .codec = "ef|powersgd:2"}).wait().ok());
      if (engine.rank() != 0) continue;
      for (std::size_t i = 0; i < kCount; ++i) out[i] += static_cast<double>(data[i]);
    }
    const Floats residual = engine.take_residual("layer").value();
    const std::lock_guard lock(mutex);
    for (std::size_t i = 0; i < kCount; ++i) kept[i] += static_cast<double>(residual[i]);
  });
  double sent = 0, given = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_NEAR(in[i], out[i] + kept[i], 1e-3) << i;
    sent += out[i] * out[i];
    given += in[i] * in[i];
  }
  EXPECT_GT(sent, given / 4);
}

// Persistent operations hold no name, so two of one name may be on their way together.
TEST(Packed, OperationsOfOneNameDoNotShareWhatIsKept) {
  run_ranks(2, [](Engine& engine) {
    for (const char* codec : {"ef|qsgd:4", "ef|topk:512:4", "ef|powersgd:1"}) {
      Floats a(3000, 1.0F), b(700, 2.0F);
      const Settings settings{.op = ReduceOp::sum, .codec = codec};
      auto first = engine.prepare({.name = "g", .shape = {30, 100}, .input = a.data(),
                                   .output = a.data()}, settings);
      auto second = engine.prepare({.name = "g", .shape = {7, 100}, .input = b.data(),
                                    .output = b.data()}, settings);
      ASSERT_TRUE(first && second) << codec;
      for (int step = 0; step < 5; ++step) {
        const Ticket one = first->start(), two = second->start();
        ASSERT_TRUE(one.wait().ok() && two.wait().ok()) << codec;
        std::fill(a.begin(), a.end(), 1.0F);
        std::fill(b.begin(), b.end(), 2.0F);
      }
    }
  });
}

TEST(Packed, PlannedStepsCarryThemToo) {
  Options options;
  options.order = "topo";
  SameEverywhere together(3);
  run_ranks(3, [&](Engine& engine) {
    for (int step = 0; step < 40; ++step) {
      std::vector<Floats> data;
      std::vector<Ticket> tickets;
      for (int t = 0; t < 4; ++t) data.push_back(random_gradient(2000, engine.rank(), step));
      for (std::size_t t = 0; t < 4; ++t) {
        tickets.push_back(engine.allreduce<float>(cat("layer", t), data[t],
                                                  {.codec = t % 2 == 0 ? "ef|topk:512:4" : ""}));
      }
      for (const Ticket& ticket : tickets) {
        ASSERT_TRUE(ticket.wait().ok()) << ticket.wait().to_string();
      }
      for (const Floats& each : data) together.expect_same(engine.rank(), each);
    }
    EXPECT_GT(engine.stats().order.plans, 0u) << engine.stats().order.reason;
  }, options);
}

TEST(Packed, StatesOfAnotherWorldSizeKeepTheirSum) {
  std::vector<std::vector<std::byte>> states(3);
  run_ranks(3, [&](Engine& engine) {
    Floats data(512, static_cast<float>(engine.rank() + 1));
    ASSERT_TRUE(engine.allreduce<float>("x", data, {.codec = "ef|topk:512:1"}).wait().ok());
    states[static_cast<std::size_t>(engine.rank())] = engine.codec_state().value();
  });
  const auto moved = redistribute_codec_states(states, 2).value();
  run_ranks(2, [&](Engine& engine) {
    ASSERT_TRUE(engine.load_codec_state(moved[static_cast<std::size_t>(engine.rank())]).ok());
    Floats residual = engine.take_residual("x").value();
    ASSERT_EQ(residual.size(), 512u);
    ASSERT_TRUE(engine.allreduce<float>("flush", residual, {.op = ReduceOp::sum}).wait().ok());
    EXPECT_EQ(residual[1], 6.0F);
    EXPECT_EQ(residual[0], 0.0F);
  });
  states[0].pop_back();
  EXPECT_FALSE(redistribute_codec_states(states, 2).ok());
}

TEST(Packed, AJoinedRankSendsNothing) {
  for (const char* codec : {"qsgd:8", "ef|topk:512:512", "ef|powersgd:1", "ef|fp16"}) {
    run_ranks(3, [&](Engine& engine) {
      if (engine.rank() == 2) {
        ASSERT_TRUE(engine.join_ranks().wait().ok());
        return;
      }
      Floats data(900, 1.0F);
      ASSERT_TRUE(engine.allreduce<float>("x", data, {.op = ReduceOp::sum, .codec = codec})
                      .wait().ok());
      EXPECT_NEAR(data[5], 2.0F, 0.05F) << codec;
      ASSERT_TRUE(engine.join_ranks().wait().ok());
    });
  }
}

}  // namespace
}  // namespace unisono::engine
